/** `durable doctor`: finds what is wrong, and says what to type. */

import { appFile } from "../app-file.ts";
import type { Command, CommandContext } from "../command.ts";
import { checkFile, checkNode, checkSettings, hasSecretFile } from "../doctor/files.ts";
import type { Finding } from "../doctor/finding.ts";
import { checkRuns, checkSecret } from "../doctor/runs.ts";
import { CliError, exit } from "../exit.ts";
import { wakeHint } from "../runs.ts";
import type { Session } from "../session.ts";
import { defaultPlace, placeOf } from "../store.ts";
import { styled, type Terminal } from "../terminal.ts";
import { plural } from "../text/format.ts";

export const doctor: Command = {
  usage: "[--fix]",
  summary: "Finds stranded, blocked, diverged and silent runs, wrong settings and open files",
  arguments: [0, 0],
  examples: ["durable doctor", "durable doctor --fix"],
  options: { fix: { type: "boolean", help: "puts file modes and .gitignore right" } },
  more: ["Exits with 1 when something is wrong."],
  run: async (context) => {
    const { flags, term, answer, streams } = context;
    const found = [checkNode(), ...checkSettings(streams), ...(await storageAndRuns(context))];
    const fixed = flags.on("fix") ? found.filter(({ repair }) => repair !== undefined) : [];
    for (const { repair } of fixed) repair?.();
    const left = found.filter((finding) => finding.level !== "ok" && !fixed.includes(finding));
    answer({
      json: { ok: left.length === 0, findings: found.map((finding) => jsonOf(finding, fixed)) },
      text: [
        ...found.flatMap((finding) => lines(finding, fixed.includes(finding), term)),
        "",
        left.length === 0 ? "Nothing is wrong." : plural(left.length, "problem"),
      ],
    });
    return left.length === 0 ? exit.ok : exit.failed;
  },
};

/** The storage that is used, and its runs: that of --store, of the app, or the default file. No other file is spoken of. */
async function storageAndRuns(context: CommandContext): Promise<Finding[]> {
  const { flags, streams, session, now } = context;
  const place = placeOf(flags.text("store") ?? defaultPlace(streams), streams);
  // Before the journal is opened, because opening it may make a secret.
  const fileThere = place.kind === "sqlite" && place.path !== null ? hasSecretFile(place.path) : null;
  let files = isOfApp(context) ? null : await checkFile(place, streams);
  if (files !== null && isUnreadable(files)) return files;
  try {
    const opened = await session();
    files ??= opened.place === null ? [] : await checkFile(opened.place, streams);
    if (isUnreadable(files)) return files;
    const secret = await checkSecret(opened, opened.place?.path === place.path ? fileThere : null);
    // With a missing secret a replay would make a new one.
    const runs =
      secret.length > 0 && fileThere === false
        ? []
        : await checkRuns(opened, now(), (runId) => wakeHint({ flags }, opened, runId));
    return [...files, ...storageFinding(opened), ...appFinding(opened.appFile), ...secret, ...runs];
  } catch (error) {
    if (error instanceof CliError && error.code === "not-found")
      return files ?? (await checkFile(place, streams));
    const text = error instanceof Error ? error.message : String(error);
    return [
      ...(files ?? []),
      { level: "fail", check: "app", text, fix: "put it right, then run durable doctor again" },
    ];
  }
}

/** True when the app of the project says which storage is used. */
function isOfApp({ flags, streams }: CommandContext): boolean {
  const [app, store] = [flags.text("app"), flags.text("store")];
  if (store !== undefined || flags.on("no-app") || (app === undefined && streams.env["DURABLE_URL"]))
    return false;
  return appFile(app, streams.cwd) !== null;
}

const isUnreadable = (files: readonly Finding[]): boolean =>
  files.some(({ level, check }) => level === "fail" && (check === "journal" || check === "schema"));

/** Of a storage without a file there is nothing to check but that its runs can be read. */
function storageFinding({ place, storage }: Session): Finding[] {
  if (place?.kind === "sqlite") return [];
  const name = place?.label ?? `${storage.constructor.name} of the app`;
  return [{ level: "ok", check: "journal", text: `${name} can be read` }];
}

function appFinding(file: string | null): Finding[] {
  if (file !== null) return [{ level: "ok", check: "app", text: `the app in ${file} loads` }];
  return [{ level: "ok", check: "app", text: "no durable.config.ts: the code is not checked" }];
}

function jsonOf(
  { level, check, text, fix, runs }: Finding,
  fixed: readonly Finding[],
): Readonly<Record<string, unknown>> {
  const put = level !== "ok" && fixed.some((each) => each.check === check);
  return { level, check, text, fix: fix ?? null, runs: runs ?? [], fixed: put };
}

function lines({ level, text, fix }: Finding, fixed: boolean, term: Terminal): string[] {
  const mark = {
    ok: styled("green", term.glyph("✓", "ok  ")),
    warn: styled("yellow", term.glyph("!", "warn")),
    fail: styled("red", term.glyph("✗", "fail")),
  }[level];
  if (fix === undefined || fixed) return [`${mark} ${text}${fixed ? styled("green", " (put right)") : ""}`];
  return [`${mark} ${text}`, `    ${styled("dim", term.glyph("→", "->"))} ${fix}`];
}
