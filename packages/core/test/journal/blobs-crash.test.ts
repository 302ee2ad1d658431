import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld, type Fault } from "@durable/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import { kindsOf, lab, outputOf, secret, type Lab } from "../support/behaviour-lab.ts";
import { bookAnswers, bookFlow, bookInput } from "../support/blobs-flow.ts";
import { livesOf } from "./support/blobs-lives.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";

const faults: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-request",
  "lose-reply",
];

/** Leases on virtual time, so that those of the dead run out. */
function sqlite(): Lab {
  const temp = tempFolder(memoryFolder);
  const world = virtualWorld();
  const storage = new SqliteStorage({ path: temp.path, now: () => world.now() });
  onTestFinished(async () => {
    await storage.close();
    temp.remove();
  });
  return { world, storage, secret };
}

const full = inject("full");
const [often, seldom] = full ? [2, 7] : [6, 8];

test.each([
  ["memory", lab, often],
  ["SQLite", sqlite, seldom],
] as const)(
  "H10 H71 large values, and faults at appends, on %s",
  { timeout: 300_000 },
  async (_, open, stride) => {
    const at = open();
    const given = { input: bookInput, answers: bookAnswers };
    const ran = new Map<string, number>();
    const { book } = bookFlow((key) => void ran.set(key, (ran.get(key) ?? 0) + 1));
    const calm = await livesOf(at, book, { ...given, id: "calm" });
    const expected = outputOf(calm.end);
    expect(expected).toMatchObject({ beside: { sign: bookAnswers["sign"] }, late: expect.any(String) });
    const once = new Map(ran);
    expect(calm.appends).toBeGreaterThan(10);
    for (let append = 1, n = 0; append <= calm.appends; append += stride, n++) {
      // In the sample they take turns, from the last one on.
      for (const fault of full ? faults : [faults.at((n % faults.length) - 1)!]) {
        ran.clear();
        const id = `r-${append}-${fault}`;
        const { end } = await livesOf(at, book, { ...given, id }, { append, fault });
        expect(outputOf(end), id).toEqual(expected);
        for (const [key, count] of ran)
          expect(count - (once.get(key) ?? 0), `${id} ${key}`).toBeLessThanOrEqual(1);
      }
    }
    // Cold: another process reads the journal, with every value whole.
    const read = book.with({ ...at });
    expect(outputOf(await read.get("calm").outcome())).toEqual(expected);
    expect(await kindsOf(read.get("r-1-lose-reply"))).toEqual(await kindsOf(read.get("calm")));
  },
);
