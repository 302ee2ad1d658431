import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parseJsonc, readConfig, readVars, toWorkerOptions } from "../src/emulator-config.ts";

const folder = mkdtempSync(join(tmpdir(), "emulator-config-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
}

describe("wrangler.jsonc", () => {
  test("may have comments and trailing commas, and texts that look like them", () => {
    const text = `{
      // a comment, with "quotes", and a comma,
      "url": "https://a/b", /* another,
      one */ "list": [1, 2, ],
      "odd": "a \\" // , ] }",
    }`;
    expect(parseJsonc(text)).toEqual({ url: "https://a/b", list: [1, 2], odd: 'a " // , ] }' });
  });

  test("gives Miniflare the buckets, the queues and their settings", () => {
    write(
      "wrangler.jsonc",
      JSON.stringify({
        name: "w",
        main: "src/worker.ts",
        compatibility_date: "2026-07-01",
        compatibility_flags: ["a_flag"],
        vars: { A: "1" },
        r2_buckets: [{ binding: "JOURNAL", bucket_name: "journal" }],
        durable_objects: {
          bindings: [
            { name: "RUNS", class_name: "Runs" },
            { name: "OLD", class_name: "Old" },
          ],
        },
        migrations: [{ tag: "v1", new_sqlite_classes: ["Runs"] }],
        queues: {
          producers: [{ binding: "RUNS", queue: "runs" }],
          consumers: [
            {
              queue: "runs",
              max_batch_size: 1,
              max_batch_timeout: 0,
              retry_delay: 1,
              max_retries: 10,
              dead_letter_queue: "runs-dead",
            },
            { queue: "plain" },
          ],
        },
        triggers: { crons: ["* * * * *"] },
      }),
    );
    expect(toWorkerOptions(readConfig(folder))).toEqual({
      name: "w",
      compatibilityDate: "2026-07-01",
      compatibilityFlags: ["a_flag"],
      bindings: { A: "1" },
      r2Buckets: { JOURNAL: "journal" },
      durableObjects: {
        RUNS: { className: "Runs", useSQLite: true },
        OLD: { className: "Old", useSQLite: false },
      },
      queueProducers: { RUNS: "runs" },
      queueConsumers: {
        runs: {
          maxBatchSize: 1,
          maxBatchTimeout: 0,
          retryDelay: 1,
          maxRetries: 10,
          deadLetterQueue: "runs-dead",
        },
        plain: {},
      },
    });
  });

  test("with a binding that is not emulated is refused by name", () => {
    write("wrangler.jsonc", '{ "name": "w", "kv_namespaces": [] }');
    expect(() => readConfig(folder)).toThrow(/wrangler\.jsonc has kv_namespaces, which .* does not support/);
  });
});

test("variables come from .dev.vars, where there is one", () => {
  expect(readVars(folder)).toEqual({});
  write(".dev.vars", "# a comment\nLLM_PROVIDER=openai\nOPENAI_API_KEY='a # b'\n");
  expect(readVars(folder)).toEqual({ LLM_PROVIDER: "openai", OPENAI_API_KEY: "a # b" });
});
