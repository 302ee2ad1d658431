/**
 * A report as text: a headline, the table, and the findings with advice. Proven in test/kit-report.test.ts.
 */

import { stripVTControlCharacters } from "node:util";
import { shown, type Problem } from "./checks.ts";
import { whereOf, heads } from "./points.ts";
import type { CrashCase, CrashFindings, EffectReport, OutsideReport } from "./findings.ts";
import type { Point } from "./points.ts";

/** Up to this many boundaries are shown; of more, those without a problem are left out. */
const mostRows = 60;
const widestWhat = 46;
/** Of the result in the headline. */
const widestEnd = 100;
/** How many texts of one kind are shown. */
const mostTexts = 3;

type Style = "bold" | "dim" | "red" | "green" | "yellow";
type Paint = (style: Style, text: string) => string;

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};

export interface TextOptions {
  readonly colour: boolean;
  readonly ok: boolean;
}

export function reportText(findings: CrashFindings, { colour, ok }: TextOptions): string {
  const paint: Paint = (style, text) => {
    const [on, off] = codes[style];
    return colour ? `\u001B[${on}m${text}\u001B[${off}m` : text;
  };
  const sections = [
    [headline(findings, ok, paint), totals(findings, paint)],
    table(findings, paint),
    problems(findings, paint),
    outside(findings, paint),
    effects(findings, paint),
    nondeterminism(findings, paint),
    warnings(findings, paint),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function headline(
  { workflow, calm, totals: { cases, possible, wrong } }: CrashFindings,
  ok: boolean,
  paint: Paint,
): string {
  const name = paint("bold", workflow);
  const end = cut(shown(calm.outcome));
  const tried = cases === possible ? `all ${cases} cases` : `${cases} of ${possible} cases tried, and all`;
  if (ok) return `${name}: ${paint("green", `${tried} end as in calm`)} (${end})`;
  const finding = wrong > 0 ? `${wrong} of ${cases} cases went wrong` : "it may behave differently next time";
  return `${name}: ${paint("red", finding)} (in calm ${end})`;
}

function totals({ totals: sums, faults }: CrashFindings, paint: Paint): string {
  const { boundaries, cases, possible, missed, again, ms, virtualMs } = sums;
  return paint(
    "dim",
    [
      `${counted(boundaries, "boundary", "boundaries")} x ${counted(faults.length, "fault")}`,
      ...(cases < possible ? [`${possible - cases} cases not tried; { within: "1m" } allows more`] : []),
      ...(missed > 0 ? [`${missed} not reached`] : []),
      `${counted(again, "body", "bodies")} run again`,
      `${(ms / 1_000).toFixed(1)} s`,
      `${days(virtualMs)} of virtual time`,
    ].join(", "),
  );
}

function cut(text: string): string {
  return text.length > widestEnd ? `${text.slice(0, widestEnd - 3)}...` : text;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function days(ms: number): string {
  const [size, unit] = (
    [
      [86_400_000, "days"],
      [3_600_000, "h"],
      [60_000, "min"],
      [1_000, "s"],
    ] as const
  ).find(([least]) => ms >= 2 * least) ?? [1, "ms"];
  return `${Math.round(ms / size)} ${unit}`;
}

// ---- the table ----

function table({ boundaries, faults, cases }: CrashFindings, paint: Paint): string[] {
  const byPoint = Map.groupBy(cases, ({ point }) => point);
  const isCalm = (point: Point): boolean =>
    (byPoint.get(point) ?? []).every((one) => one.problems.length === 0 && one.hit);
  const listed = boundaries.length <= mostRows ? boundaries : boundaries.filter((point) => !isCalm(point));
  const rows = listed.map((point) => [
    ...labels(point),
    ...faults.map((fault) =>
      cell(
        (byPoint.get(point) ?? []).find((one) => one.fault === fault),
        paint,
      ),
    ),
  ]);
  const head = ["", "", "boundary", ...faults.map((fault) => heads[fault])];
  const lines = aligned([head.map((text) => paint("dim", text)), ...rows]);
  const left = boundaries.length - listed.length;
  const all = cases.length < boundaries.length * faults.length ? "ok or not tried" : "all ok";
  return [...lines, ...(left === 0 ? [] : [paint("dim", `  ${left} more boundaries, ${all}`)])];
}

function labels({ operation, index, what }: Point): string[] {
  return [operation, String(index), fitted(what.split(", "))];
}

/** As many parts as fit, and the number of the rest. */
function fitted(parts: readonly string[]): string {
  const whole = parts.join(", ");
  if (whole.length <= widestWhat) return whole;
  let count = 1;
  while (parts.slice(0, count + 1).join(", ").length <= widestWhat - 4) count += 1;
  const text = parts.slice(0, count).join(", ");
  return `${text.slice(0, widestWhat - 4)}${count < parts.length ? ` +${parts.length - count}` : ""}`;
}

function cell(one: CrashCase | undefined, paint: Paint): string {
  if (one === undefined) return paint("dim", "not tried");
  const words = [...new Set(one.problems.map(({ word }) => word))];
  if (words.length > 0)
    return paint("red", `${words.slice(0, 2).join(", ")}${words.length > 2 ? ` +${words.length - 2}` : ""}`);
  return one.hit ? paint("green", "ok") : paint("yellow", "not reached");
}

/** Columns two spaces apart; the second is a number. Escape codes have no width. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ""))));
  return rows.map((row) => {
    const cells = row.map((text, column) => {
      const space = " ".repeat((widths[column] ?? 0) - width(text));
      return column === 1 ? space + text : text + space;
    });
    return `  ${cells.join("  ")}`.trimEnd();
  });
}

function width(text: string): number {
  return stripVTControlCharacters(text).length;
}

// ---- what was found ----

type Shown = Exclude<Problem["check"], "effect" | "order">;

const titles: Readonly<Record<Shown, string>> = {
  outcome: "Ended differently than the calm run",
  output: "Output differs from the calm run",
  memory: "A restart changes the result, without any fault",
  journal: "The journal is invalid",
  replay: "Replay does not reach the recorded end",
};

const cures: Readonly<Record<Shown, string | null>> = {
  outcome: null,
  memory:
    "A variable that a step or an answer sets is lost when the process restarts. Return the value from the step.",
  output: "If steps return something new each time, set { compare: false } or { same }.",
  journal: "This is a bug of the library or of the storage.",
  replay: "The output of a workflow must depend only on its input and on values from ctx.",
};

/** The texts of one check, each once, with its first case and the number of cases. */
function seen({ calm, cases }: CrashFindings, check: Problem["check"], paint: Paint): string[] {
  const all = [
    ...calm.problems.map((problem) => ({ problem, where: "calm" })),
    ...cases.flatMap((one) => one.problems.map((problem) => ({ problem, where: whereOf(one) }))),
  ].filter(({ problem }) => problem.check === check);
  const texts = [...Map.groupBy(all, ({ problem }) => problem.text)];
  const lines = texts.slice(0, mostTexts).flatMap(([text, list]) => {
    const more = list.length - 1;
    const where = `${list[0]?.where}${more > 0 ? ` and ${counted(more, "more case")}` : ""}`;
    return [`  ${paint("red", where)}`, `    ${text}`];
  });
  const left = texts.length - mostTexts;
  return [...lines, ...(left > 0 ? [paint("dim", `  and ${left} more like these`)] : [])];
}

function problems(findings: CrashFindings, paint: Paint): string[] {
  const checks = Object.keys(titles) as Shown[];
  return checks
    .map((check) => ({ check, lines: seen(findings, check, paint) }))
    .filter(({ lines }) => lines.length > 0)
    .flatMap(({ check, lines }, index) => {
      const cure = cures[check];
      return [
        ...(index === 0 ? [] : [""]),
        paint("bold", titles[check]),
        ...lines,
        ...(cure === null ? [] : [paint("dim", `  ${cure}`)]),
      ];
    });
}

function effectLines(found: readonly EffectReport[], paint: Paint): string[] {
  return found.flatMap(({ name, text, cases: count, where }) => {
    const more = count > 1 ? ` and ${counted(count - 1, "more case")}` : "";
    return [
      `  ${paint("red", name)}  ${text}`,
      paint("dim", `  ${" ".repeat(name.length)}  ${where}${more}`),
    ];
  });
}

const outsideCures: Readonly<Record<OutsideReport["kind"], string>> = {
  effect:
    "Put the effect into ctx.step: a workflow function runs again after every wait and every crash. Wrap tools of the AI SDK in durableTools.",
  model:
    "Wrap the model in durableModel(ctx, model), or call it in ctx.step: it is asked again in every replay.",
  await:
    'Put the wait into ctx.step: replay could swap calls. { allow: ["foreign-await"] } makes it a warning.',
};

function nameOf({ kind, name }: OutsideReport): string {
  return kind === "await" ? `foreign await before "${name}"` : `${kind} ${name}`;
}

function outside({ outside: list }: CrashFindings, paint: Paint): string[] {
  if (list.length === 0) return [];
  const kinds = [...Map.groupBy(list, ({ kind }) => kind)];
  return [
    paint("bold", "Outside of any step"),
    ...kinds.flatMap(([kind, found]) => [
      ...found.map((one) => `  ${paint("red", nameOf(one))}  ${one.at}`),
      paint("dim", `  ${outsideCures[kind]}`),
    ]),
  ];
}

function effects({ effects: all, repeated, outside: list }: CrashFindings, paint: Paint): string[] {
  const title = paint("bold", "Effects repeated under another idempotency key");
  if (all === null) {
    const steps = repeated.filter(({ keyed }) => !keyed).map(({ key }) => key);
    const hint = `steps that ran again without reading their key: ${steps.join(", ")}`;
    return [
      `${title}: not recorded; pass { effects: recorder() } to compare them`,
      ...(steps.length === 0 ? [] : [paint("dim", `  ${hint}`)]),
    ];
  }
  // One that is not in a step has another remedy.
  const unrecorded = new Set(list.flatMap(({ kind, name }) => (kind === "effect" ? [name] : [])));
  const found = all.filter(({ kind, name }) => kind !== "other-payload" && !unrecorded.has(name));
  if (found.length === 0 && unrecorded.size > 0) return [];
  if (found.length === 0) return [`${title}: ${paint("green", "none")}`];
  return [
    title,
    ...effectLines(found, paint),
    paint(
      "dim",
      "  A crash between an effect and its record repeats the effect. Hand the service info.idempotencyKey,",
    ),
    paint("dim", "  and it will know it for a repetition."),
  ];
}

function nondeterminism(findings: CrashFindings, paint: Paint): string[] {
  const title = paint("bold", "Nondeterminism that is not journaled");
  const { ambient, effects: all } = findings;
  const lines = [
    ...ambient.map(({ name, at }) => `  ${paint("red", name)}  ${at}`),
    ...seen(findings, "order", paint),
    ...effectLines(
      (all ?? []).filter(({ kind }) => kind === "other-payload"),
      paint,
    ),
  ];
  if (lines.length === 0) return [`${title}: ${paint("green", "none")}`];
  return [
    title,
    ...lines,
    paint(
      "dim",
      "  In a workflow use ctx.now(), ctx.random() and ctx.uuid(), and keep state in the results of steps.",
    ),
  ];
}

function warnings({ warnings: list }: CrashFindings, paint: Paint): string[] {
  return list.length === 0
    ? []
    : [paint("bold", "Warnings"), ...list.map((text) => `  ${paint("yellow", text)}`)];
}
