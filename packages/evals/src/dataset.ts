/** A dataset: a folder of exported runs that is reviewed in a repository. */

import { copyRuns, DurableError, type App } from "@durable/core";
import { storageOf } from "@durable/core/inspect";
import { ArchiveStorage, type ArchivedRun } from "@durable/core/storage";
import type { Case } from "./options.ts";

interface Manifest {
  readonly format?: unknown;
  readonly v?: unknown;
  readonly examples?: readonly (Case & { readonly file: string; readonly label?: string | null })[];
}

interface Exported {
  readonly runs: readonly (Omit<ArchivedRun, "batches"> & { readonly batches: readonly unknown[] })[];
}

/** Copies the runs of a dataset to the storage of the app, where they are not there yet. The manifest says what is expected. */
export async function casesIn(app: App, folder: string): Promise<Case[]> {
  const { format, v, examples = [] } = (await read(`${folder}/manifest.json`)) as Manifest;
  if (format !== "durable-dataset" || v !== 1)
    throw new DurableError(
      "invalid-options",
      `${folder} is not a dataset of this version. Write it with: durable export --dataset ${folder}`,
    );
  const to = await storageOf(app);
  for (const { file } of examples) {
    const { runs } = (await read(`${folder}/${file}`)) as Exported;
    const texts = runs.map((run): ArchivedRun => ({ ...run, batches: run.batches.map(textOf) }));
    const { refused } = await copyRuns(new ArchiveStorage(texts), to);
    const [first] = refused;
    if (first !== undefined)
      throw new DurableError(
        "conflict",
        `${folder}/${file} does not fit what the storage of the app has: ${first.error.message} Give the eval a storage of its own, and remove the old one.`,
        { cause: first.error },
      );
  }
  return examples.map(({ runId, label, expected }) => ({
    runId,
    label: label ?? undefined,
    ...(expected !== undefined && { expected }),
  }));
}

const textOf = (batch: unknown): string => (typeof batch === "string" ? batch : JSON.stringify(batch));

/** Node's files are loaded here, so that evals of runs in a storage go on where there are none. */
async function read(path: string): Promise<unknown> {
  try {
    const { readFile } = await import("node:fs/promises");
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch (cause) {
    throw new DurableError("invalid-options", `The dataset cannot be read: ${path}. ${String(cause)}`, {
      cause,
    });
  }
}
