import { createApp, durable, MemoryStorage } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { chainOf } from "@durable/core/encryption";
import { expect, test } from "vitest";
import { failureOf, outputOf, tokenOf } from "../support/behaviour-lab.ts";
import { textOf } from "../support/blobs-flow.ts";
import { Chance } from "../support/codec-values.ts";
import { cipherOf, sealedLab, storedRuns, type SealedLab } from "./support/sealed-lab.ts";
import { heads } from "../support/worker-runs.ts";

/** A cipher that takes its time, each time another. */
function slow(cipher: Cipher, chance: Chance): Cipher {
  const wait = async (): Promise<void> => {
    for (let turns = chance.below(chance.pick([1, 4, 25])); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    acceptsPlain: cipher.acceptsPlain,
    nameOf: (content) => cipher.nameOf(content),
    seal: async (text, place) => (await wait(), cipher.seal(text, place)),
    open: async (text, place) => (await wait(), cipher.open(text, place)),
    chain: () => chainOf(slow(cipher, chance)),
  };
}

/** Every way in which two results may be ready together; the log says who was seen first. */
const flow = durable("races", async (ctx) => {
  const log: string[] = [];
  const seen = async <T>(name: string, work: Promise<T>): Promise<T> => {
    const value = await work;
    log.push(name);
    return value;
  };
  const large = textOf(71, 6_000);
  await Promise.all(
    [0, 1, 2, 3].map((i) =>
      seen(
        `step ${i}`,
        ctx.step(`step ${i}`, () => (i % 2 ? large : i)),
      ),
    ),
  );
  await ctx.parallel({
    a: async (c) =>
      seen(
        "a2",
        c.step("a2", () => seen("a1 ran", Promise.resolve(large))),
      ),
    b: async (c) =>
      seen(
        "b2",
        c.step("b2", () => 2),
      ),
  });
  const waits = ["x", "y", "z"].map((name) => seen(name, ctx.suspend<string>(name, { note: large })));
  const first = await Promise.race([...waits, seen("nap", ctx.sleep("1h"))]);
  log.push(`first ${String(first)}`);
  await Promise.all(waits);
  const race = await ctx.race({ quick: (c) => c.step("q", () => large.length), slow: (c) => c.sleep("2h") });
  return [...log.filter((name) => !name.endsWith("ran")), race.name, ctx.now()];
});

async function recorded(lab: SealedLab): Promise<unknown> {
  const app = createApp({ ...lab, workflows: [flow] });
  const parked = await lab.world.run(flow.with({ ...lab }).run(undefined, { id: "r" }));
  // All three are there before anybody looks.
  for (const name of ["z", "x", "y"])
    await lab.world.run(app.resume(tokenOf(parked, name), name, { drive: false }));
  return outputOf(await lab.world.run(app.advance("r")));
}

/** What the same run comes to where there is no cipher. */
function inClear(): Promise<unknown> {
  const { encryption: _, ...open } = sealedLab();
  return recorded(open as SealedLab);
}

/** The journal without its end, for a process that never saw it. */
async function withoutEnd(lab: SealedLab): Promise<MemoryStorage> {
  const storage = new MemoryStorage({ now: () => lab.world.now() });
  const [head] = await heads(lab.storage);
  const { batches, blobs } = (await storedRuns(lab.storage)).get("r")!;
  const named = Object.entries(blobs).map(([name, body]) => ({ name, body }));
  const open = { ...head!, status: "running", wakeAt: 0 } as const;
  for (const [position, batch] of batches.slice(0, -1).entries()) {
    const request = { locator: head!.locator, position, head: open, batch: JSON.stringify(batch) };
    await storage.append({ ...request, ...(position === 0 ? { blobs: named } : {}) });
  }
  return storage;
}

test("H3 H68 how long it takes to open a record decides nothing: the order is the journal's, in 60 replays", async () => {
  const chance = new Chance(17);
  const calm = sealedLab();
  const expected = await recorded(calm);
  expect(expected).toEqual(await inClear());
  expect((expected as unknown[]).length).toBe(12);
  for (let i = 0; i < 60; i++) {
    const storage = await withoutEnd(calm);
    const lab = { ...calm.under(slow(cipherOf("k1"), chance)), storage };
    const outcome = await lab.world.run(flow.with({ ...lab }).run(undefined, { id: "r" }));
    expect(outputOf(outcome), `replay ${i}`).toEqual(expected);
  }
});

test("H3 H68 and a run that is driven under a slow cipher sees what it would see in clear", async () => {
  const expected = await inClear();
  for (let seed = 1; seed <= 12; seed++) {
    const lab = sealedLab(slow(cipherOf("k1"), new Chance(seed)));
    expect(await recorded(lab), `seed ${seed}`).toEqual(expected);
  }
});

test("H68 of several records that do not open, the first in the journal is named, whichever failed first", async () => {
  const calm = sealedLab();
  await recorded(calm);
  const key = cipherOf("k1");
  let opened = 0;
  /** Opens the input; of what comes after, nothing, and the later ones fail sooner. */
  const broken: Cipher = {
    acceptsPlain: false,
    nameOf: (content) => key.nameOf(content),
    seal: (text, place) => key.seal(text, place),
    chain: () => key.chain(),
    open: async (text, place) => {
      if (place.at.includes("run.started")) return key.open(text, place);
      for (let turns = 20 - opened++; turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      throw new Error("no");
    },
  };
  const lab = { ...calm.under(broken), storage: await withoutEnd(calm) };
  const error = await failureOf(
    createApp({ ...lab, workflows: [flow] })
      .get("r")
      .entries(),
  );
  expect(opened).toBeGreaterThan(1);
  expect((error as Error).message).toMatch(/^step\.completed of "step 0" /);
});
