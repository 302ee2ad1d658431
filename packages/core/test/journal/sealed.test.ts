import { createApp, createWorker, durable, Journal, type Outcome } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { outputOf, tokenOf } from "../support/behaviour-lab.ts";
import { bookAnswers, bookFlow, bookInput } from "../support/blobs-flow.ts";
import { livesOf } from "./support/blobs-lives.ts";
import { leaksIn, leakyFlows, leakyInput } from "../support/canary-flow.ts";
import { cipherOf, sealedLab, storedRuns, type SealedLab, type StoredEntry } from "./support/sealed-lab.ts";
import { tempFolder } from "../support/sqlite-temp.ts";

const canary = "Canary of 4711 4711 4711 4711";

/** What a storage may see; whatever else an entry has must be sealed. */
const clear = new Set(
  (
    "kind at took attempt key after wait runId workflow version childOf parent label ancestry cuts base retryAt stream " +
    "from count firstAt usage child until schema expiresAt answerId answer branches wakeAt look unneeded work inserted orphans abandoned unawaited nonce"
  ).split(" "),
);
const isSealed = (value: unknown): boolean =>
  JSON.stringify(Object.keys(value as object)) === '["$","v"]' && (value as { $: unknown }).$ === "sealed";

/** Fields of an entry that are neither sealed nor known to be in clear. */
function openFields({ edits = [], ...entry }: StoredEntry): string[] {
  // A step's declared input is a fingerprint, a run's is a value.
  const called = "key" in entry;
  const fields = Object.entries(entry).filter(
    ([name, value]) =>
      !clear.has(name) && !(called && name === "input" && typeof value === "string") && !isSealed(value),
  );
  const values = (edits as { value: unknown }[]).filter(({ value }) => !isSealed(value));
  return [...fields.map(([name]) => `${entry.kind}.${name}`), ...values.map(() => "run.forked.edits")];
}

/** Runs of everything there is, each with the canary in every value. */
async function everything(lab: SealedLab): Promise<void> {
  const { world } = lab;
  const { flow, child } = leakyFlows(canary, { form: "harmless" });
  const extra = durable("extra", async (ctx, input: string) => {
    const first = await ctx.race({
      quick: (c) => c.step("q", () => input),
      child: (c) => c.child(waits, input),
      never: (c) => c.suspend("never", { note: input }),
    });
    await ctx.sleep(5);
    const answer = await ctx.suspend("early", { note: input });
    await ctx.map([input], (c, item) => c.step("mapped", () => item));
    return [first, answer];
  });
  const waits = durable("waits", (ctx) => ctx.suspend("for ever"));
  const app = createApp({ ...lab, patience: "1h", workflows: [flow, child, extra, waits] });
  await world.run(flow.with({ ...lab, patience: "1h" }).run(leakyInput(canary), { id: "r" }));
  await world.advance(1_000);
  const token = tokenOf(await world.run(app.advance("r")), "ask");
  await world.run(app.resume(token, { ok: canary }));
  await world.run(app.resume(token, { ok: canary }, { drive: false }));
  await world.run(app.advance("r"));
  await world.run(app.resume(token, { ok: true, hint: canary }));
  const parked = await world.run(extra.with({ ...lab, patience: "1h" }).run(canary, { id: "x" }));
  await world.run(app.resume(tokenOf(parked, "early"), canary, { drive: false }));
  await world.run(app.advance("x"));
  const edit = { use: canary, chunks: [canary], child: { canary } };
  await world.run(
    flow.with({ ...lab }).fork("r", { from: "large", edit, input: leakyInput(canary), id: "f" }),
  );
  await world.run(app.cancel("f", { reason: `because of ${canary}` }));
  const journal = await Journal.open("direct", lab);
  await journal.record("call", () => Promise.reject(new Error(canary))).catch(() => {});
  await journal.record("call", () => canary);
  for await (const _ of journal.recordStream("stream", () => [canary])) void _;
}

describe("H68 under a cipher no value of any kind stands in clear", () => {
  test("every field of every entry of runs that use everything, and every blob", async () => {
    const lab = sealedLab();
    await everything(lab);
    const runs = [...(await storedRuns(lab.storage)).values()];
    const entries = runs.flatMap(({ batches }) => batches.flatMap((batch) => batch.entries));
    expect([...new Set(entries.flatMap(openFields))]).toEqual([]);
    const kinds = new Set(entries.map(({ kind }) => kind));
    expect([...kinds].toSorted().join(" ")).toBe(
      "attempt.failed child.closed child.completed child.failed child.opened parallel.opened race.opened " +
        "run.cancelled run.completed run.failed run.forked run.started run.suspended sleep.fired sleep.opened " +
        "step.completed step.failed step.started stream.chunks stream.completed stream.failed suspend.answered " +
        "suspend.closed suspend.expired suspend.opened suspend.rejected suspend.resolved",
    );
    const bodies = runs.flatMap(({ blobs }) => Object.values(blobs));
    expect(bodies.length).toBeGreaterThan(20);
    for (const body of bodies) expect(body).toMatch(/^\{"\$":"sealed","v":"1j?\.k1\.[\w-]+"\}$/);
    expect(leaksIn(JSON.stringify(runs), canary)).toEqual([]);
    expect(leaksIn(JSON.stringify(await lab.storage.list()), canary)).toEqual([]);
    // And the same runs without one are full of it.
    const { encryption: _, ...open } = sealedLab();
    await everything(open as SealedLab);
    expect(
      leaksIn(JSON.stringify([...(await storedRuns(open.storage)).values()]), canary).length,
    ).toBeGreaterThan(9);
  });

  test("equal values are sealed differently, and equal content of two runs has one blob", async () => {
    const lab = sealedLab();
    const flow = durable("twice", async (ctx) => [
      await ctx.step("a", () => canary),
      await ctx.step("b", () => canary),
    ]);
    const large = durable("large", (ctx) => ctx.step("a", () => canary.repeat(500)));
    await lab.world.run(flow.with({ ...lab }).run(undefined, { id: "r" }));
    for (const id of ["l-1", "l-2"]) await lab.world.run(large.with({ ...lab }).run(undefined, { id }));
    const runs = await storedRuns(lab.storage);
    const sealed = JSON.stringify(runs.get("r")).match(/"v":"1\.k1\.[\w-]+/g) ?? [];
    expect(new Set(sealed).size).toBe(sealed.length);
    expect(runs.get("l-1")?.blobs).toEqual(runs.get("l-2")?.blobs);
  });
});

describe("H68 H10 runs under a cipher end like others", () => {
  test("with a fault at appends", { timeout: 300_000 }, async () => {
    const lab = sealedLab();
    const { book } = bookFlow();
    const given = { input: bookInput, answers: bookAnswers };
    const { encryption: _, ...open } = sealedLab();
    const expected = outputOf((await livesOf(open, book, { ...given, id: "calm" })).end);
    const { appends } = await livesOf(lab, book, { ...given, id: "calm" });
    const full = inject("full");
    const faults = ["crash-after", "crash-then-apply", "lose-reply"] as const;
    for (let append = 1, n = 0; append <= appends; append += full ? 3 : 25, n++) {
      // In the sample they take turns.
      for (const fault of full ? faults : [faults[n % faults.length]!]) {
        const id = `r-${append}-${fault}`;
        const { end } = await livesOf(lab, book, { ...given, id }, { append, fault });
        expect(outputOf(end), id).toEqual(expected);
      }
    }
  });

  test("an append that is made again has the same bytes: one write id, one sealed text (law 8)", async () => {
    const lab = sealedLab();
    const sent: AppendRequest[] = [];
    const storage = new Proxy(lab.storage, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown;
        if (name !== "append")
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        return (request: AppendRequest): Promise<void> => {
          sent.push(request);
          return sent.length % 2 === 1
            ? Promise.reject(new Error("The line is dead."))
            : target.append(request);
        };
      },
    });
    const flow = durable("lost", (ctx) => ctx.step("a", () => canary.repeat(500)));
    const outcome = await lab.world.run(flow.with({ ...lab, storage }).run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toBe(canary.repeat(500));
    expect(sent.length).toBe(6);
    for (let i = 0; i < sent.length; i += 2) expect(sent[i + 1]).toEqual(sent[i]);
  });

  test("through a worker on SQLite: started, delivered, streamed, swept", async () => {
    const temp = tempFolder();
    const storage = new SqliteStorage(temp.path);
    onTestFinished(async () => {
      await storage.close();
      temp.remove();
    });
    const child = durable("child", (ctx, text: string) => ctx.step("say", () => `${text}!`));
    const flow = durable("flow", async (ctx, text: string) => {
      const chunks = await ctx.stream("chunks", () => [text, `${text} again`]);
      const answer = await ctx.suspend<string>("ok", { note: text });
      return [chunks, answer, await ctx.child(child, text)];
    });
    const app = createApp({ storage, encryption: cipherOf("k1"), workflows: [flow, child] });
    const worker = createWorker(app, { interval: 5 });
    const run = await app.start("flow", canary, { id: "r" });
    const outcome = await run.result().catch((error: { details: Record<string, unknown> }) => error.details);
    const [{ token, note } = { token: "", note: "" }] = (
      outcome as { waiting: { token: string; note: string }[] }
    ).waiting;
    expect(note).toBe(canary);
    const seen: unknown[] = [];
    for await (const event of run.stream("chunks")) seen.push(event.type === "chunk" && event.value);
    expect(seen).toEqual([canary, `${canary} again`]);
    await app.resume(token, `${canary}, yes`, { drive: false });
    expect(await run.result({ wait: true })).toEqual([seen, `${canary}, yes`, `${canary}!`]);
    await worker.stop();
    const end: Outcome<unknown> = await app.get("r").outcome();
    expect(end.status).toBe("completed");
  });
});
