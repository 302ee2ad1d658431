/** What an example says in its wrangler.jsonc, read as the emulator needs it; and the variables of `.dev.vars`. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

interface Consumer {
  readonly queue: string;
  readonly max_batch_size?: number;
  readonly max_batch_timeout?: number;
  readonly max_retries?: number;
  readonly retry_delay?: number;
  readonly dead_letter_queue?: string;
}

export interface WorkerConfig {
  readonly name: string;
  readonly main: string;
  readonly compatibility_date: string;
  readonly compatibility_flags?: readonly string[];
  readonly vars?: Readonly<Record<string, string>>;
  readonly r2_buckets?: readonly { readonly binding: string; readonly bucket_name: string }[];
  readonly durable_objects?: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[];
  };
  readonly migrations?: readonly { readonly tag: string; readonly new_sqlite_classes?: readonly string[] }[];
  readonly queues?: {
    readonly producers?: readonly { readonly binding: string; readonly queue: string }[];
    readonly consumers?: readonly Consumer[];
  };
}

/** The part of Miniflare's options that wrangler.jsonc decides. */
export interface EmulatedWorker {
  readonly name: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: string[];
  readonly bindings: Record<string, string>;
  /** Names of buckets, and of queues, by binding. */
  readonly r2Buckets: Record<string, string>;
  readonly durableObjects: Record<string, { className: string; useSQLite: boolean }>;
  readonly queueProducers: Record<string, string>;
  readonly queueConsumers: Record<string, Record<string, number | string>>;
}

/** Bindings of other kinds would be missing in the Worker, without a word. The rest concerns deployment only. */
const understood = new Set(
  "name main compatibility_date compatibility_flags vars r2_buckets durable_objects migrations queues triggers send_metrics".split(
    " ",
  ),
);

/** JSON with comments and trailing commas. */
export function parseJsonc(text: string): unknown {
  const plain = text
    .replaceAll(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[^]*?\*\//g, "$1")
    .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[\]}])/g, "$1");
  return JSON.parse(plain);
}

/** The configuration of the example in a folder. */
export function readConfig(folder: string): WorkerConfig {
  const path = join(folder, "wrangler.jsonc");
  const config = parseJsonc(readFileSync(path, "utf8")) as WorkerConfig;
  const unknown = Object.keys(config).filter((key) => !understood.has(key));
  if (unknown.length > 0)
    throw new Error(
      `${path} has ${unknown.join(", ")}, which the emulator of the examples does not support.`,
    );
  return config;
}

/** The variables in `.dev.vars` of a folder; none without that file. */
export function readVars(folder: string): Readonly<Record<string, string>> {
  const path = join(folder, ".dev.vars");
  return existsSync(path) ? (parseEnv(readFileSync(path, "utf8")) as Record<string, string>) : {};
}

/** The same configuration under Miniflare's names. */
export function toWorkerOptions(config: WorkerConfig): EmulatedWorker {
  const { producers = [], consumers = [] } = config.queues ?? {};
  const sqlite = (config.migrations ?? []).flatMap((migration) => migration.new_sqlite_classes ?? []);
  return {
    name: config.name,
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: [...(config.compatibility_flags ?? [])],
    bindings: { ...config.vars },
    r2Buckets: Object.fromEntries(
      (config.r2_buckets ?? []).map(({ binding, bucket_name }) => [binding, bucket_name]),
    ),
    durableObjects: Object.fromEntries(
      (config.durable_objects?.bindings ?? []).map(({ name, class_name: className }) => [
        name,
        { className, useSQLite: sqlite.includes(className) },
      ]),
    ),
    queueProducers: Object.fromEntries(producers.map(({ binding, queue }) => [binding, queue])),
    queueConsumers: Object.fromEntries(consumers.map((consumer) => [consumer.queue, toConsumer(consumer)])),
  };
}

function toConsumer(consumer: Consumer): Record<string, number | string> {
  const given: Record<string, number | string | undefined> = {
    maxBatchSize: consumer.max_batch_size,
    maxBatchTimeout: consumer.max_batch_timeout,
    maxRetries: consumer.max_retries,
    retryDelay: consumer.retry_delay,
    deadLetterQueue: consumer.dead_letter_queue,
  };
  const options: Record<string, number | string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) options[name] = value;
  return options;
}
