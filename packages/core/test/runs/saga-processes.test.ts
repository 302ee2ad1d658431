import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, inject, test } from "vitest";
import { tempFolder } from "../support/sqlite-temp.ts";
import { doneIn, parts, saga, type Ends } from "./support/saga-flow.ts";

const program = fileURLToPath(new URL("./support/saga-child.ts", import.meta.url));

interface Life {
  readonly killed: boolean;
  readonly status: string;
  readonly booked: readonly string[];
  readonly refunded: readonly string[];
}

/** One process that is killed at an append, and another that finishes what it left. */
async function life(ends: Ends, append: number, moment: string): Promise<Life> {
  const temp = tempFolder();
  const file = join(temp.folder, "ledger");
  const args = ["--conditions=durable-source", program, temp.path, file, ends, String(append), moment];
  const end = await promisify(execFile)(process.execPath, args).then(
    () => null,
    (error: Error & { signal?: string }) => error,
  );
  if (end !== null && end.signal !== "SIGKILL") throw end;
  const storage = new SqliteStorage(temp.path);
  try {
    const flow = saga(file, ends).with({ storage });
    let outcome = await flow.run(undefined, { id: "r" });
    if (outcome.status === "suspended") {
      await flow.cancel("r", { reason: "changed plans" });
      await flow
        .get("r")
        .result()
        .catch(() => {});
      outcome = await flow.get("r").outcome();
    }
    return { killed: end !== null, status: outcome.status, ...doneIn(file) };
  } finally {
    await storage.close();
    temp.remove();
  }
}

const full = inject("full");
/** A booking has a start, two appends for each part, an end, and one for each refund. */
const least = { books: 12, fails: 17, waits: 18 };
/** In the sample one append each: between two parts, in the middle of the refunds, and near the end. */
const sample = { books: 7, fails: 15, waits: 17 };
const statuses = { books: "completed", fails: "failed", waits: "cancelled" };

describe("a booking of five parts, killed at every append, on SQLite", () => {
  const timeout = 300_000;
  test.each(["books", "fails", "waits"] as const)(
    "%s: it ends booked, or fully refunded, and each refund is made once",
    { timeout },
    async (ends) => {
      const strides = full ? { after: 1, before: 4 } : { after: Infinity };
      for (const [moment, stride] of Object.entries(strides)) {
        let append = full ? Math.min(stride, 3) : sample[ends];
        for (let killed = true; killed && append < Infinity; append += stride) {
          const found = await life(ends, append, moment);
          const told = `${ends}, killed ${moment} append ${append}`;
          expect(found.status, told).toBe(statuses[ends]);
          expect(found.booked, told).toEqual(parts);
          expect(found.refunded, told).toEqual(ends === "books" ? [] : parts.toReversed());
          ({ killed } = found);
          if (!full) expect(killed, told).toBe(true);
          if (!killed) expect(append, told).toBeGreaterThan(least[ends]);
        }
      }
    },
  );
});
