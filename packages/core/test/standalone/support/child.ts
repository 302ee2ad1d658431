/**
 * Records into a journal of a file that others share: `<path> <id> <name> <calls | stream> <count>`.
 * Says `ran <key>` of work it does, `saw <key> <value>` of what it was given, `chunk <n>` of chunks, and `over`.
 */

import { writeSync } from "node:fs";
import { Journal } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";

const [path = "", id = "", name = "", what = "calls", count = "0"] = process.argv.slice(2);
const say = (text: string): void => void writeSync(1, `${text}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const storage = new SqliteStorage(path);
const journal = await Journal.open(id, { storage });
say("up");
// Begun together with the others, once the test says so.
await new Promise((resolve) => process.stdin.once("data", resolve));

async function makeCalls(): Promise<void> {
  for (let n = 0; n < Number(count); n++) {
    const value = await journal.record(`call ${n}`, async () => {
      say(`ran ${n}`);
      await pause(1);
      return `${n} by ${name}`;
    });
    say(`saw ${n} ${value}`);
  }
}

async function makeStream(): Promise<void> {
  const stream = journal.recordStream("words", async function* ({ attempt }) {
    say(`attempt ${attempt}`);
    for (let n = 0; n < Number(count); n++) {
      yield `${n} by ${name}`;
      await pause(2);
    }
  });
  const seen: string[] = [];
  for await (const chunk of stream) {
    seen.push(chunk);
    say(`chunk ${seen.length}`);
  }
  say(`stream ${JSON.stringify(seen)}`);
}

try {
  await (what === "calls" ? makeCalls() : makeStream());
} catch (error) {
  say(`failed ${(error as { code?: string }).code} ${(error as Error).message}`);
}
say("over");
process.stdin.destroy();
await storage.close();
