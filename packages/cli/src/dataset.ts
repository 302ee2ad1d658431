/**
 * Runs as a dataset: a folder with a file for each, and a manifest, to be reviewed and kept in a repository.
 *
 * dataset.1. The name of a file is the id of its run, and the same run gives the same file, so that a second export shows only
 *     what has changed.
 * dataset.2. Values are decrypted, so they are redacted unless that is turned off. Redacted runs are read once, so that no file is
 *     written that cannot be read.
 * dataset.3. A redacted run has no fingerprints of declared inputs: they are those of the values before.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyRuns, createApp, MemoryStorage, type App, type RunHead, type Storage } from "@durable/core";
import { exampleIn, exampleScore, plain, scoresIn, type ScoreView } from "@durable/core/inspect";
import { ArchiveStorage, plainRun, type ArchivedRun, type Fact } from "@durable/core/storage";
import { archive } from "./archive.ts";
import { CliError } from "./exit.ts";

/** Hides what looks private in a value. */
export type Redact = (value: unknown) => unknown;

/** One run of a dataset, as its manifest has it. */
interface Example {
  readonly file: string;
  readonly runId: string;
  readonly workflow: string;
  readonly label: string | null;
  readonly expected?: unknown;
  readonly scores?: readonly Omit<ScoreView, "at">[];
}

const manifestName = "manifest.json";
const format = { format: "durable-dataset", v: 1 } as const;

interface From {
  readonly app: App;
  readonly storage: Storage;
  /** `null` changes nothing. */
  readonly redact: Redact | null;
}

/** Writes the runs to a folder. Returns the files. Files of an earlier dataset that are no longer in it are removed. */
export async function writeDataset(folder: string, runIds: readonly string[], from: From): Promise<string[]> {
  const before = filesBefore(folder);
  const examples: Example[] = [];
  mkdirSync(folder, { recursive: true });
  for (const runId of runIds.toSorted()) {
    const { runs, example } = await exampleOf(runId, from);
    const file = `${runId}.json`;
    const readable = runs.map((run) => ({
      ...run,
      batches: run.batches.map((text) => JSON.parse(text) as unknown),
    }));
    write(folder, file, { format: "durable-export", v: 1, runs: readable });
    examples.push({ file, ...example });
  }
  write(folder, manifestName, { ...format, redacted: from.redact !== null, examples });
  const files = examples.map(({ file }) => file);
  for (const file of before) if (!files.includes(file)) rmSync(join(folder, file), { force: true });
  return [manifestName, ...files];
}

/** A folder that is not a dataset is left alone. */
function filesBefore(folder: string): string[] {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return [];
  const path = join(folder, manifestName);
  const manifest = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Partial<typeof format>) : {};
  if (manifest.format !== format.format)
    throw new CliError(`${folder} is not empty, and not a dataset. Choose another folder.`);
  const { examples = [] } = manifest as { readonly examples?: readonly Example[] };
  return examples.map(({ file }) => file).filter((file) => /^[\w-]+\.json$/.test(file));
}

function write(folder: string, file: string, data: object): void {
  writeFileSync(join(folder, file), `${JSON.stringify(data, null, 2)}\n`, { mode: 0o600 });
}

async function exampleOf(runId: string, { app, storage, redact }: From) {
  const archived = await archive(storage, new Set([runId]));
  const runs: ArchivedRun[] = [];
  for (const run of archived.runs) {
    const changed = await plainRun(app, run, (fact) => (redact === null ? fact : redacted(fact, redact)));
    runs.push({ ...changed, head: headOf(run.head, redact) });
  }
  const entries = await entriesIn(runs, runId);
  const scores = scoresIn(entries);
  const { label = null, expected } = exampleIn(scores) ?? {};
  const others = scores.flatMap(({ name, value, note }) =>
    name === exampleScore ? [] : [{ name, value, ...(note !== undefined && { note }) }],
  );
  const { workflow = "" } = runs.at(-1)?.head ?? {};
  return {
    runs,
    example: {
      runId,
      workflow,
      label,
      ...(expected !== undefined && { expected: plain(expected) }),
      ...(others.length > 0 && { scores: others }),
    },
  };
}

/** Reads what will be written, as an import would. */
async function entriesIn(runs: readonly ArchivedRun[], runId: string) {
  const memory = new MemoryStorage();
  const { refused } = await copyRuns(new ArchiveStorage(runs), memory);
  try {
    for (const { error } of refused) throw error;
    return await createApp({ storage: memory, workflows: [], bind: false }).get(runId).entries();
  } catch (error) {
    throw new CliError(
      `Run ${runId} cannot be read once it is redacted: ${error instanceof Error ? error.message : String(error)} Leave it out, or use --no-redact.`,
    );
  }
}

/** The fields of facts that hold values, and names that people choose. */
const values = [
  "input",
  "output",
  "value",
  "error",
  "chunks",
  "note",
  "issues",
  "prompt",
  "reason",
  "messages",
  "report",
  "edits",
  "tags",
  "label",
];

function redacted<V>(fact: Fact<V>, redact: Redact): Fact<V> {
  const fields = { ...fact } as Record<string, unknown>;
  for (const name of values) {
    // Of a call, that is a fingerprint.
    if (name === "input" && !fact.kind.startsWith("run.")) continue;
    if (fields[name] !== undefined) fields[name] = redact(fields[name]);
  }
  if (fact.kind === "run.scored" && fact.name === exampleScore) fields["note"] = noteOf(fact.note, redact);
  if ("attempt" in fact) delete fields["input"];
  return fields as unknown as Fact<V>;
}

/** The note of an example is a text with JSON. */
function noteOf(note: unknown, redact: Redact): unknown {
  try {
    return JSON.stringify(redact(JSON.parse(String(note))));
  } catch {
    return redact(note);
  }
}

/** What lists say of a run, without values. */
function headOf(head: RunHead, redact: Redact | null): RunHead {
  const { report: _, waits, error, blocked: __, driven: ___, ...rest } = head;
  const { question: ____, ...open } = waits ?? {};
  const { message: _____, ...root } = error ?? {};
  return {
    ...rest,
    ...(waits !== undefined && { waits: open as typeof waits }),
    ...(error !== undefined && { error: root as typeof error }),
    ...(redact !== null && head.tags !== undefined && { tags: redact(head.tags) as typeof head.tags }),
    ...(redact !== null && { label: redact(head.label) as string | null }),
  };
}
