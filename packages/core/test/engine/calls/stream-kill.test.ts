import { seeded } from "@durable/testing";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";
import { chunksOf, isDense, range, readAll, seenAs, type Seen } from "../../support/stream-lab.ts";
import { longFlow, wordOf } from "./support/stream-long.ts";

let temp: TempFolder;
let storage: SqliteStorage;

beforeEach(() => {
  temp = tempFolder();
  storage = new SqliteStorage(temp.path);
});
afterEach(async () => {
  await killChildren();
  await storage.close();
  temp.remove();
});

const count = 250;

/** Reads along through all deaths, and tells when so many chunks were seen since the last one. */
class Along {
  readonly seen: Seen[] = [];
  readonly end: Promise<void>;
  #since = 0;
  #tell: () => void = () => {};

  constructor(id: string) {
    this.end = this.#read(id);
  }

  async #read(id: string): Promise<void> {
    for await (const event of longFlow(storage, { life: "reader", count }).get(id).stream("words")) {
      this.seen.push(seenAs(event));
      this.#since = event.type === "reset" ? 0 : this.#since + 1;
      this.#tell();
    }
  }

  async until(chunks: number): Promise<void> {
    this.#since = 0;
    while (this.#since < chunks) await new Promise<void>((resolve) => (this.#tell = resolve));
  }
}

/** The attempts a reader saw, each with its chunks. */
function attemptsOf(seen: readonly Seen[]): { attempt: number; values: unknown[] }[] {
  const attempts = [{ attempt: 1, values: [] as unknown[] }];
  for (const one of seen) {
    if (typeof one === "string") attempts.push({ attempt: Number(one.slice(6)), values: [] });
    else {
      const last = attempts.at(-1);
      expect([one[0], one[1]], "dense, and of the attempt that was announced").toEqual([
        last?.attempt,
        last?.values.length,
      ]);
      last?.values.push(one[2]);
    }
  }
  return attempts;
}

describe("H47 a process that is killed while it makes a stream, on SQLite", () => {
  const random = seeded(47);
  // After so many chunks that this process has seen; 0 is before the first.
  const plans = [[1], [0, 40], [random.between(20, 120), random.between(20, 120)], [90, 0, 3]].map(
    (deaths) => ({ deaths }),
  );

  it.each(inject("full") ? plans : plans.slice(1, 2))(
    "killed after $deaths chunks: a prefix, a reset, and one clean stream",
    async ({ deaths }) => {
      const heard: string[] = [];
      let along: Along | null = null;
      for (const [n, after] of deaths.entries()) {
        const child = new Child("stream-child.ts", [temp.path, "r", `life${n}`, String(count)]);
        await child.line("up");
        along ??= new Along("r");
        await along.until(after);
        await child.kill();
        heard.push(...child.lines.filter((line) => line.startsWith("saw ")));
      }
      const last = new Child("stream-child.ts", [temp.path, "r", "last", String(count)]);
      const output = JSON.parse(await last.line("output ")) as string[];
      await last.done();
      await along?.end;

      const clean = range(count).map((n) => wordOf("last", n));
      expect(output).toEqual(clean);
      const seen = along?.seen ?? [];
      const attempts = attemptsOf(seen);
      expect(attempts.at(-1)?.values).toEqual(clean);
      for (const { values } of attempts.slice(0, -1)) {
        const [life] = String(values[0]).split(" ");
        expect(values, "a prefix of one life").toEqual(values.map((_, n) => wordOf(life ?? "", n)));
        expect(values.length).toBeLessThan(count);
      }
      const needed = deaths.filter((after) => after > 0).length;
      expect(attempts.length, "each death that was read along is a reset").toBeGreaterThan(needed);
      expect(new Set(attempts.map(({ attempt }) => attempt)).size).toBe(attempts.length);

      // Whatever was acknowledged, to the process that died or to this one, is there.
      const flow = longFlow(storage, { life: "check", count });
      const entries = await chunksOf(flow.get("r"));
      expect(isDense(entries)).toBe(true);
      const kept = new Map<string, unknown>(
        entries.flatMap(({ attempt, from, chunks }) =>
          chunks.map((chunk, i) => [`${attempt} ${from + i}`, chunk] as const),
        ),
      );
      for (const line of heard) expect(kept.has(line.slice(4)), line).toBe(true);
      for (const one of seen)
        if (typeof one !== "string") expect(kept.get(`${one[0]} ${one[1]}`)).toBe(one[2]);
      expect(
        await readAll(flow.get("r").stream("words")),
        "and a late reader sees what this one saw",
      ).toEqual(seen);
    },
  );
});
