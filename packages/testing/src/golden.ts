/**
 * Golden journals: recorded once, kept in the repository, and replayed against today's code. Shows before a
 * deploy whether parked runs could continue with the new code.
 */

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyWorkflow, Secret } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Cipher } from "@durable/core/storage";
import { isExport, ofExport, type GoldenJournal } from "./golden/journal.ts";
import { judge } from "./golden/replay.ts";
import { GoldenError, reportOf, type GoldenReport, type GoldenResult } from "./golden/report.ts";

/** Options of `replayGolden`. */
export interface GoldenOptions {
  /** The present code: the workflow, or all workflows that the journals belong to. */
  readonly against: AnyWorkflow | readonly AnyWorkflow[];
  /** Returns the report instead of throwing it when a journal does not replay. */
  readonly report?: boolean | undefined;
  /** For code that uses tokens as declared input: the secret of the recorded runs. */
  readonly secret?: Secret | undefined;
  /** For encrypted journals: the cipher they were recorded with. */
  readonly encryption?: Cipher | undefined;
}

interface Source {
  readonly source: string;
  readonly journal: GoldenJournal | Error;
}

/**
 * Replays recorded journals against the present code, without running any step. A run that has ended must
 * reach the same end, a parked one the same open waits. `journals` are journals, paths of JSON files, globs, or folders that
 * `durable export --dataset` wrote. Throws when one does not replay.
 */
export async function replayGolden(
  journals: string | GoldenJournal | readonly (string | GoldenJournal)[],
  options: GoldenOptions,
): Promise<GoldenReport> {
  assertOptions(options, "against report secret encryption", "replayGolden");
  const given: readonly (string | GoldenJournal)[] = [journals].flat();
  const sources = given.flatMap((one, index) =>
    typeof one === "string" ? files(one) : [{ source: `journal ${index + 1}`, journal: one }],
  );
  if (sources.length === 0) throw new Error("replayGolden needs at least one journal.");
  const against = [options.against].flat();
  const results: GoldenResult[] = [];
  for (const source of sources) results.push(await result(source, against, options));
  const report = reportOf(results);
  if (!report.ok && options.report !== true) throw new GoldenError(report);
  return report;
}

/** A pattern that matches no file is an error, because such a test would check nothing. */
function files(pattern: string): Source[] {
  const found = globSync(pattern).toSorted().flatMap(filesIn);
  if (found.length === 0) throw new Error(`replayGolden found no file for ${JSON.stringify(pattern)}.`);
  return found.map((source) => ({ source, journal: parsed(readFileSync(source, "utf8")) }));
}

/** The files of a dataset; a path of anything else is itself. */
function filesIn(path: string): string[] {
  const manifest = path.endsWith(manifestName) ? path : join(path, manifestName);
  if (!existsSync(manifest)) return [path];
  const { examples = [] } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly examples?: readonly { readonly file: string }[];
  };
  // Among the files of a glob, the manifest is none of a journal.
  return manifest === path ? [] : examples.map(({ file }) => join(path, file));
}

const manifestName = "manifest.json";

function parsed(text: string): GoldenJournal | Error {
  try {
    const json: unknown = JSON.parse(text);
    if (isExport(json)) return ofExport(json);
    if (typeof json === "object" && json !== null) return json as GoldenJournal;
    return new Error("The file is JSON but not a journal made by recordGolden.");
  } catch (error) {
    return error as Error;
  }
}

async function result(
  { source, journal }: Source,
  against: readonly AnyWorkflow[],
  { secret = "golden journals are replayed, not resumed", encryption }: GoldenOptions,
): Promise<GoldenResult> {
  if (journal instanceof Error) {
    const { message } = journal;
    return { source, runId: "", workflow: "", verdict: "corrupt", message, warnings: [] };
  }
  const { runId, workflow } = journal;
  return {
    source,
    runId: String(runId),
    workflow: String(workflow),
    ...(await judge(journal, { against, secret, encryption })),
  };
}
