/** Sealed values in real journals: what was sealed in one place opens in no other, and nothing stands in clear. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";

import { unchained } from "./support/sealed-lab.ts";

type Entry = { kind: string; key?: string; [field: string]: unknown };
type Batch = { entries: Entry[] };

const keys = { current: "k", keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 3) } };
const encryption = unchained(aesGcm(keys));
const words = (n: number): string => `top secret ${n} `;

const flow = durable("sealed", async (ctx, n: number) => {
  const both = await Promise.all([ctx.step("a", () => words(n)), ctx.step("b", () => words(n))]);
  const chunks = await ctx.stream("s", () => [words(1), words(2)]);
  const large = await ctx.step("large", () => words(n).repeat(3_000));
  const answer = await ctx.suspend<string>("ask", { note: words(n) });
  return [both, chunks, large.length, answer];
});

async function recorded(cipher: Cipher = encryption) {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const host = { world, storage, secret: "a secret for tests, of no worth" };
  for (const id of ["one", "two"]) await world.run(flow.with({ ...host, encryption: cipher }).run(7, { id }));
  return { world, storage, host };
}

/** A copy of everything, with the batches of one run changed; the code that reading that run ends with. */
async function verdictOn(
  { world, storage, host }: Awaited<ReturnType<typeof recorded>>,
  change: (batches: Batch[], other: Batch[]) => void,
  blobs: (body: string) => string = (body) => body,
  cipher: Cipher = encryption,
): Promise<unknown> {
  const { runs } = await storage.list();
  const read = async (id: string) => {
    const head = runs.find(({ runId }) => runId === id)!;
    const { batches, blobs: named = {} } = await storage.read(head.locator);
    return { head, batches: batches.map((text) => JSON.parse(text) as Batch), named };
  };
  const [one, two] = [await read("one"), await read("two")];
  change(one.batches, two.batches);
  const copy = new MemoryStorage({ now: () => world.now() });
  for (const [position, batch] of one.batches.entries()) {
    const named = Object.entries(position === 0 ? one.named : {});
    await copy.append({
      locator: one.head.locator,
      position,
      batch: JSON.stringify(batch),
      blobs: named.map(([name, body]) => ({ name, body: blobs(body) })),
      head: one.head,
    });
  }
  const app = createApp({ ...host, storage: copy, encryption: cipher, workflows: [] });
  return app
    .get("one")
    .entries()
    .then(
      () => "read",
      (error: { code?: unknown }) => error.code ?? error,
    );
}

const entryOf = (batches: Batch[], key: string, kind = "step.completed"): Entry =>
  batches.flatMap(({ entries }) => entries).find((entry) => entry.key === key && entry.kind === kind)!;

describe("H68 a sealed journal", () => {
  test("envelope.2 has nothing in clear but names, times and kinds; and is read with its key", async () => {
    const made = await recorded();
    const { runs } = await made.storage.list();
    for (const { locator } of runs) {
      const reply = await made.storage.read(locator);
      expect(JSON.stringify(reply)).not.toContain("top secret");
      const values =
        JSON.stringify(reply.batches).match(/\\"(?:value|chunks|note|input|output|error)\\":/g) ?? [];
      expect(values.length).toBeGreaterThan(4);
    }
    expect(await verdictOn(made, () => {})).toBe("read");
  });

  test.each<[string, (batches: Batch[], other: Batch[]) => void]>([
    ["of two steps of one batch swapped", (own) => swap(entryOf(own, "a"), entryOf(own, "b"), "value")],
    ["of another batch", (own) => (entryOf(own, "a")["value"] = entryOf(own, "large")["value"])],
    ["of another run", (own, other) => (entryOf(own, "a")["value"] = entryOf(other, "a")["value"])],
    ["under another key", (own) => (entryOf(own, "a").key = "c")],
    ["under another kind", (own) => (entryOf(own, "ask", "suspend.opened").kind = "suspend.expired")],
    [
      "of chunks, in a step",
      (own) => (entryOf(own, "a")["value"] = entryOf(own, "s", "stream.chunks")["chunks"]),
    ],
  ])("envelope.1 with a value %s is `tampered`", async (_, change) => {
    expect(await verdictOn(await recorded(), change)).toBe("tampered");
  });

  test("envelope.1 with a value in another field is no fact of ours", async () => {
    const change = (own: Batch[]): void => move(entryOf(own, "ask", "suspend.opened"), "note", "value");
    expect(await verdictOn(await recorded(), change)).toBe("corrupt");
  });

  test("envelope.1 with its batches in another order is `tampered`", async () => {
    const made = await recorded();
    const swapped = (batches: Batch[]): void => void batches.splice(1, 2, batches[2]!, batches[1]!);
    expect(await verdictOn(made, swapped)).toBe("tampered");
  });

  test.each<[string, (batches: Batch[]) => void]>([
    ["a value", (own) => (entryOf(own, "a")["value"] = words(7))],
    ["null", (own) => (entryOf(own, "a")["value"] = null)],
    ["chunks", (own) => (entryOf(own, "s", "stream.chunks")["chunks"] = [words(1)])],
    ["a note", (own) => (entryOf(own, "ask", "suspend.opened")["note"] = words(7))],
    ["an input", (own) => (own[0]!.entries[0]!["input"] = 7)],
  ])("envelope.2 with %s in clear is `tampered`, unless older journals are to be read", async (_, change) => {
    const made = await recorded();
    expect(await verdictOn(made, change)).toBe("tampered");
    const lenient = unchained(aesGcm({ ...keys, acceptPlain: true }));
    expect(await verdictOn(made, change, undefined, lenient)).toBe("read");
  });

  test("envelope.2 with a blob in clear, or one of another name, is `tampered`", async () => {
    const made = await recorded();
    expect(
      await verdictOn(
        made,
        () => {},
        () => '"in clear"',
      ),
    ).toBe("tampered");
    const bodies: string[] = [];
    await verdictOn(
      made,
      () => {},
      (body) => (bodies.push(body), body),
    );
    expect(bodies.length).toBeGreaterThan(1);
    expect(
      await verdictOn(
        made,
        () => {},
        () => bodies[0]!,
      ),
    ).toBe("tampered");
  });
});

function swap(a: Entry, b: Entry, field: string): void {
  [a[field], b[field]] = [b[field], a[field]];
}

function move(entry: Entry, from: string, to: string): void {
  entry[to] = entry[from];
  delete entry[from];
}
