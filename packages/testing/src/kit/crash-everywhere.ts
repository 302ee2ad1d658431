/**
 * Crash tests: runs a workflow once without faults to list its I/O, then once for each I/O and each fault.
 * checks.ts holds what must be true of each history. Proven in test/kit-clean.test.ts and
 * test/kit-caught.test.ts.
 */

import { isDeepStrictEqual } from "node:util";
import { MemoryStorage, type Workflow } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";
import { watchAmbient, type AmbientName } from "./ambient.ts";
import { AnswerBook } from "./answers.ts";
import { Bodies } from "./bodies.ts";
import { Budget } from "./budget.ts";
import { seeded } from "../random.ts";
import { callSite, workflowSite } from "./call-site.ts";
import { isKnownRead } from "./known-reads.ts";
import { checkMemory, judge, shown, type Verdict } from "./checks.ts";
import type { AmbientReport, CrashCase, EffectReport, OutsideReport, RepeatedBody } from "./findings.ts";
import { whereOf } from "./points.ts";
import { history, type History, type InjectedFault, type Setup } from "./history.ts";
import type { Notes } from "./observed-life.ts";
import {
  crashOptions,
  everyFault,
  type CrashArguments,
  type CrashOptions,
  type CrashSettings,
  type CrashSubject,
  type Resettable,
} from "./options.ts";
import { Replacements } from "./replaced-steps.ts";
import { CrashError, crashReport, type CrashReport } from "./report.ts";

/**
 * Runs a workflow once without faults, then once for every read and write and every kind of fault there, and
 * compares the results. Rejects with the report when one differs, so that awaiting it is the whole test.
 */
export async function crashEverywhere<Input, Output>(
  subject: CrashSubject<Input, Output>,
  ...[options]: CrashArguments<Input, NoInfer<Output>>
): Promise<CrashReport<Output>> {
  assertOptions(options, crashOptions, "crashEverywhere");
  const given = (options ?? {}) as CrashOptions<Input, Output>;
  const restore = watchAmbient();
  try {
    const report = await crash(subject, given);
    if (!report.ok && given.throws !== false) throw new CrashError(report);
    return report;
  } finally {
    restore();
  }
}

async function crash<Input, Output>(
  subject: CrashSubject<Input, Output>,
  options: CrashOptions<Input, Output>,
): Promise<CrashReport<Output>> {
  const startedAt = performance.now();
  const budget = new Budget(options.within);
  const { faults = everyFault } = options;
  const setup = setupOf(subject, options);
  const same = options.compare === false ? null : (options.same ?? isDeepStrictEqual);
  const calm = await history(setup, null);
  const silent = silentRecorders(setup, calm);
  const outcome = calmOutcome(calm, options.ends ?? "completed");
  const tally = new Tally(calm, options.allow ?? []);
  const verdict = await judge(setup, { calm, other: calm, same: null });
  const boundaries = calm.points.filter(({ operation }) => /^(append|read|lease|release)$/.test(operation));
  const possible = boundaries.flatMap((point) => faults.map((fault) => ({ point, fault })));
  const tried = new Map<InjectedFault, CrashCase<Output>>();
  for (const injected of sampled(possible, options)) {
    // One case is tried in any case, so that a test cannot pass without one.
    if (budget.leftMs === 0 && tried.size > 0) break;
    const other = await history(setup, injected);
    const found = await judge(setup, { calm, other, same });
    tally.add(injected, possible.indexOf(injected), other, found);
    tried.set(injected, caseOf(injected, other, found));
  }
  const cases = possible.flatMap((injected) => tried.get(injected) ?? []);
  // A run that was never replayed is the same in memory.
  const replayed = [...calm.notes.passes.values()].some((passes) => passes.length > 1);
  const memory = replayed ? checkMemory(calm, await history(setup, null, "warm"), same) : [];
  return crashReport<Output>({
    workflow: tally.workflow,
    calm: {
      outcome,
      ran: Object.fromEntries(calm.notes.ran),
      problems: [...verdict.problems, ...memory],
    },
    faults,
    boundaries,
    cases,
    repeated: tally.repeated(),
    effects: setup.recorders.length === 0 ? null : tally.effects(),
    ambient: tally.ambient(),
    outside: tally.outside(),
    warnings: [...tally.warnings(), ...unusedNames(setup), ...silent],
    totals: {
      boundaries: boundaries.length,
      cases: cases.length,
      possible: possible.length,
      wrong: cases.filter(({ problems }) => problems.length > 0).length,
      missed: cases.filter(({ hit }) => !hit).length,
      again: tally.again,
      ms: performance.now() - startedAt,
      virtualMs: calm.virtualMs,
    },
  });
}

/** The cases in the order in which they are tried, so that the first ones are a sample of all. */
function sampled(
  possible: readonly InjectedFault[],
  { cases = possible.length, seed = 1 }: Pick<CrashSettings<unknown>, "cases" | "seed">,
): InjectedFault[] {
  const random = seeded(seed);
  const drawn = possible.map((injected) => ({ injected, at: random.next() }));
  return drawn
    .toSorted((a, b) => a.at - b.at)
    .slice(0, cases)
    .map(({ injected }) => injected);
}

function setupOf<Input, Output>(
  subject: CrashSubject<Input, Output>,
  options: CrashOptions<Input, Output>,
): Setup<Input, Output> {
  const {
    resume = {},
    steps = {},
    effects = [],
    reset = [],
    bodyWithin = 1_000,
    slowSeed,
    hooks,
    quotas,
  } = options;
  const resets: readonly Resettable[] = Array.isArray(reset) ? reset : [reset];
  return {
    open: typeof subject === "function" ? subject : (): Workflow<Input, Output> => subject,
    input: options.input as Input,
    answers: new AnswerBook(resume),
    replacements: new Replacements(steps),
    bodies: new Bodies(toMs(bodyWithin, "`bodyWithin`")),
    recorders: [effects].flat(),
    reset: async () => {
      for (const one of resets) await (typeof one === "function" ? one() : one.reset());
    },
    slowSeed,
    hooks,
    quotas,
    storage: options.storage ?? (({ now }) => ({ storage: new MemoryStorage({ now }) })),
  };
}

/** If the calm run does not end as expected, comparing other histories with it is pointless. */
function calmOutcome<Output>({ ending }: History<Output>, ends: NonNullable<CrashSettings<Output>["ends"]>) {
  if (ending.kind !== "ended") {
    throw new Error(`The run did not end, although no fault was injected: ${ending.error.message}`, {
      cause: ending.error,
    });
  }
  const { outcome } = ending;
  if (outcome.status === ends) return outcome;
  throw new Error(
    `The run is ${shown(outcome)}, although no fault was injected. If that is the expected end, set { ends: "${outcome.status}" }.`,
    "error" in outcome ? { cause: outcome.error } : {},
  );
}

function caseOf<Output>(
  injected: InjectedFault,
  { ending, hit, lives, notes }: History<Output>,
  { problems }: Verdict,
): CrashCase<Output> {
  const outcome = ending.kind === "ended" ? ending.outcome : null;
  return { ...injected, outcome, hit, lives, ran: Object.fromEntries(notes.ran), problems };
}

function unusedNames({
  answers,
  replacements,
}: Pick<Setup<unknown, unknown>, "answers" | "replacements">): string[] {
  return [
    ...answers
      .unused()
      .map((name) => `resume has an answer for "${name}", but the run has no suspend point of that name`),
    ...replacements.unused().map((name) => `steps replaces "${name}", but the run has no step of that name`),
  ];
}

function silentRecorders(
  { recorders }: Pick<Setup<unknown, unknown>, "recorders">,
  { effects }: History<unknown>,
): string[] {
  if (recorders.length === 0 || effects.length > 0) return [];
  return ["effects has a recorder that recorded nothing. Do the fakes of the workflow call record()?"];
}

/** The key of the call that the library warns about, because it came after a foreign await. */
function afterForeignAwait(warning: string): string | undefined {
  return /called "(.*)" after awaiting something other than ctx/.exec(warning)?.[1];
}

/** The call with this key, in any pass. */
function callOf({ passes }: Notes, key: string): Error | undefined {
  const calls = [...passes.values()].flat(2);
  return calls.find(({ what }) => what.slice(what.indexOf(" ") + 1) === key)?.from;
}

/** Sums over all histories. */
class Tally<Output> {
  readonly workflow: string;
  again = 0;
  readonly #calm: History<Output>;
  readonly #allowed: ReadonlySet<AmbientName | "foreign-await">;
  readonly #effects = new Map<string, EffectReport & { readonly place: number }>();
  readonly #repeated = new Map<string, RepeatedBody>();
  readonly #reads = new Map<string, AmbientReport>();
  readonly #outside = new Map<string, OutsideReport>();
  readonly #warnings = new Set<string>();

  constructor(calm: History<Output>, allowed: NonNullable<CrashSettings<Output>["allow"]>) {
    this.#calm = calm;
    this.#allowed = new Set(allowed);
    this.workflow = calm.head?.workflow ?? "";
    this.#note(calm, null);
  }

  /** `place` is the position of the case among all. */
  add(injected: InjectedFault, place: number, other: History<Output>, { effects }: Verdict): void {
    this.#note(other, injected);
    for (const finding of effects) {
      const id = JSON.stringify([
        finding.kind,
        finding.name,
        finding.kind === "other-key" ? "" : finding.text,
      ]);
      const known = this.#effects.get(id);
      const cases = (known?.cases ?? 0) + 1;
      // The first by position, not by the order of the sample.
      const first =
        known !== undefined && known.place < place ? known : { ...finding, place, where: whereOf(injected) };
      this.#effects.set(id, { ...first, cases });
    }
    for (const [key, count] of other.notes.ran) this.#count(key, count, other.notes);
  }

  #count(key: string, count: number, { keyed }: Notes): void {
    const more = count - (this.#calm.notes.ran.get(key) ?? 0);
    if (more <= 0) return;
    this.again += more;
    const cases = (this.#repeated.get(key)?.cases ?? 0) + 1;
    this.#repeated.set(key, { key, cases, keyed: keyed.has(key) });
  }

  #note({ notes, world }: History<Output>, injected: InjectedFault | null): void {
    // The caller gets an error for a lost request, so a warning about it is expected.
    const reported = injected === null || injected.fault.startsWith("crash") ? world.warnings : [];
    for (const warning of reported) {
      const key = this.#allowed.has("foreign-await") ? undefined : afterForeignAwait(warning);
      if (key === undefined) this.#warnings.add(warning);
      else this.#found("await", key, callOf(notes, key));
    }
    for (const { kind, name, from } of notes.unrecorded) this.#found(kind, name, from);
    for (const { name, from } of notes.reads) {
      const at = this.#allowed.has(name) || isKnownRead(name, from) ? null : callSite(from);
      if (at !== null) this.#reads.set(`${name} ${at}`, { name, at });
    }
  }

  #found(kind: OutsideReport["kind"], name: string, from: Error | undefined): void {
    const at = from === undefined ? "an unknown location" : workflowSite(from);
    this.#outside.set(JSON.stringify([kind, name, at]), { kind, name, at });
  }

  outside(): OutsideReport[] {
    return [...this.#outside.values()];
  }

  effects(): EffectReport[] {
    return [...this.#effects.values()].map((found) => {
      const { place: _, ...report } = found;
      return report;
    });
  }

  repeated(): RepeatedBody[] {
    // In the order of the calm run, not in that of the sample.
    const order = [...this.#calm.notes.ran.keys()];
    return [...this.#repeated.values()].toSorted((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
  }

  ambient(): AmbientReport[] {
    return [...this.#reads.values()];
  }

  warnings(): string[] {
    return [...this.#warnings];
  }
}
