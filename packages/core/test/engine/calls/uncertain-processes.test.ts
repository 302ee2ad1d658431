import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { failureOf, kindsOf, outputOf, tokenOf } from "../../support/behaviour-lab.ts";
import { tempFolder } from "../../support/sqlite-temp.ts";
import { chargesIn, fileShop, type Mode } from "./support/uncertain-file.ts";

const program = fileURLToPath(new URL("./support/uncertain-child.ts", import.meta.url));

/** A journal, a file of charges, and processes that are killed in the middle of one. */
function place() {
  const temp = tempFolder();
  const storage = new SqliteStorage(temp.path);
  onTestFinished(async () => {
    await storage.close();
    temp.remove();
  });
  const file = join(temp.folder, "charges");
  const killed = async (mode: Mode, id: string): Promise<void> => {
    const args = ["--conditions=durable-source", program, temp.path, file, mode, id];
    const end = await failureOf(promisify(execFile)(process.execPath, args));
    expect(end).toMatchObject({ signal: "SIGKILL" });
  };
  const shop = (mode: Mode) => fileShop(file, mode).with({ storage });
  return { storage, killed, shop, charges: () => chargesIn(file) };
}

describe("a process is killed between the effect and its record, on SQLite (H11)", () => {
  test("suspend: the run waits with the facts; completed, and the effect stays one; retry, and it is two, by decision", async () => {
    const { killed, shop, charges } = place();
    const flow = shop("suspend");
    for (const id of ["a", "b"]) await killed("suspend", id);
    expect(charges()).toHaveLength(2);
    const begun = Date.now();
    const [a, b] = [await flow.run(undefined, { id: "a" }), await flow.run(undefined, { id: "b" })];
    for (const [n, outcome] of [a, b].entries()) {
      expect(outcome).toMatchObject({
        status: "suspended",
        waiting: [
          { key: "charge/uncertain", note: { step: "charge", attempt: 1, idempotencyKey: charges()[n] } },
        ],
      });
      const notes = outcome.status === "suspended" ? outcome.waiting.map(({ note }) => note) : [];
      for (const note of notes as { startedAt: number }[]) expect(note.startedAt).toBeLessThanOrEqual(begun);
    }
    expect(charges(), "asking repeats nothing").toHaveLength(2);

    const answered = await flow.resume(tokenOf(a), { status: "completed", value: "looked it up" });
    expect(outputOf(answered.outcome)).toEqual(["order 7", "looked it up"]);
    expect(charges()).toHaveLength(2);

    const again = await flow.resume(tokenOf(b), { status: "retry" });
    expect(outputOf(again.outcome)).toEqual(["order 7", "charged"]);
    const [ofA, ...ofB] = charges();
    expect(ofB).toHaveLength(2);
    expect(new Set([ofA, ...ofB]).size, "the second charge of b has the key of the first").toBe(2);
  });

  test("suspend: killed again after the answer to retry, it asks again", async () => {
    const { killed, shop, charges, storage } = place();
    const flow = shop("suspend");
    await killed("suspend", "r");
    const first = await flow.run(undefined, { id: "r" });
    // Only the answer is written here: a process that will be killed drives it.
    await createApp({ storage, workflows: [] }).resume(tokenOf(first), { status: "retry" }, { drive: false });
    await killed("suspend", "r");
    expect(charges()).toHaveLength(2);
    const second = await flow.run(undefined, { id: "r" });
    expect(second).toMatchObject({ status: "suspended", waiting: [{ key: "charge/uncertain#2" }] });
    const { outcome } = await flow.resume(tokenOf(second), { status: "completed", value: "enough" });
    expect(outputOf(outcome)).toEqual(["order 7", "enough"]);
    expect(new Set(charges()).size).toBe(1);
    expect(charges()).toHaveLength(2);
  });

  test("a function that looks into the file: the effect happens once, and no question is opened", async () => {
    const { killed, shop, charges } = place();
    const flow = shop("look");
    await killed("look", "r");
    expect(charges()).toHaveLength(1);
    expect(outputOf(await flow.run(undefined, { id: "r" }))).toEqual(["order 7", "found in the file"]);
    expect(charges()).toHaveLength(1);
    expect((await kindsOf(flow.get("r"))).filter((line) => line.startsWith("suspend"))).toEqual([]);
  });
});
