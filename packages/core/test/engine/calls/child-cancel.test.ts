import { createApp, durable, type AnyWorkflow, type DurableError } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { RunJournal } from "../../../src/journal/journal.ts";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, standings } from "./support/child-family.ts";
import { heads } from "../../support/worker-runs.ts";

/** What there was when the cancellation was acknowledged. */
interface Seen {
  readonly begun: number;
  readonly running: Body[];
  readonly alive: string[];
  readonly status: string;
}

interface Body {
  readonly name: string;
  ended: boolean;
  told: boolean;
}

/** A child with a step, a sleep, a wait and a child of its own, beside a timer, a wait, a step and a stream. */
function everything({ world }: Lab) {
  const bodies: Body[] = [];
  const begin = (name: string, signal: AbortSignal): Body => {
    const body = { name, ended: false, told: false };
    bodies.push(body);
    signal.addEventListener("abort", () => (body.told = true));
    return body;
  };
  const work =
    (name: string, ms: number) =>
    async ({ signal }: { signal: AbortSignal }) => {
      const body = begin(name, signal);
      await pause(world, ms);
      body.ended = true;
      return name;
    };
  const toy = durable("toy", (ctx) => ctx.step("play", work("play", 1_500)));
  const kid = durable("kid", async (ctx) => {
    await ctx.step("wake", work("wake", 100));
    await ctx.sleep("300ms");
    await ctx.suspend("may i", { timeout: "200ms", fallback: "no" });
    return ctx.child(toy);
  });
  const flow = durable("parent", async (ctx) => {
    await ctx.step("first", work("first", 50));
    await ctx.parallel({
      kid: (c) => c.child(kid),
      timer: (c) => c.sleep("800ms"),
      wait: (c) => c.suspend("ok", { timeout: "1s", fallback: null }),
      stream: (c) =>
        c.stream("words", async function* ({ signal }) {
          const body = begin("words", signal);
          for (const word of ["a", "b", "c"]) {
            yield word;
            await pause(world, 400);
          }
          body.ended = true;
        }),
    });
    await ctx.child(toy, undefined, { name: "last" });
  });
  return { bodies, flow, workflows: [flow, kid, toy] as readonly AnyWorkflow[] };
}

/** Runs that may still do something, and children that a parent has opened and that have not ended. */
async function alive({ storage, world }: Lab): Promise<string[]> {
  const found: string[] = [];
  const told = new Set<string>();
  const runs = await heads(storage);
  for (const { locator } of runs) {
    const journal = await RunJournal.open(locator, { storage, world });
    for (const { opened, over } of journal?.state.children.values() ?? []) {
      if (over) told.add(opened.child);
      else if (!runs.some((run) => run.runId === opened.child)) found.push(`unborn ${opened.child}`);
    }
  }
  for (const { status, runId, workflow } of runs) {
    // A child that has reported to its parent is about to append its own end, and does nothing else.
    if (/running|suspended/.test(status) && !told.has(runId)) found.push(`${workflow} ${runId}`);
  }
  return found;
}

/** Cancels the parent before or after the n-th operation of the driver; 0 for never. */
async function cancelAt(moment: "before" | "after", at: number) {
  const on = lab();
  const { bodies, flow, workflows } = everything(on);
  let count = 0;
  const seen: Seen[] = [];
  const storage = hooked(on.storage, async (_, now, index) => {
    count = index;
    if (now !== moment || index !== at) return;
    const { status } = await flow.with({ ...on }).cancel("r");
    seen.push({
      begun: bodies.length,
      running: bodies.filter(({ ended }) => !ended),
      alive: await alive(on),
      status,
    });
  });
  const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
  await on.world.advance(60_000);
  const swept = await on.world.run(createApp({ ...on, workflows }).sweep());
  const late: string[] = [];
  for (const { runId } of await heads(on.storage)) {
    const kinds = await kindsOf(createApp({ ...on, workflows }).get(runId));
    const end = kinds.findIndex((kind) => /^run\.(completed|failed|cancelled)$/.test(kind));
    late.push(...kinds.slice(end + 1));
  }
  return { on, outcome, bodies, count, swept, late, seen: seen[0] };
}

describe("H45 a cancellation of the parent", () => {
  test.each(["before", "after"] as const)(
    "%s every I/O of the family: at its acknowledgement nothing below is alive, and nothing begins after it",
    async (moment) => {
      const calm = await cancelAt(moment, 0);
      expect(calm.outcome.status).toBe("completed");
      expect(await standings(calm.on.storage).then(Object.values)).toEqual([
        "completed",
        "completed",
        "completed",
        "completed",
      ]);
      expect(calm.count).toBeGreaterThan(25);
      let cancelled = 0;
      // Before its first append there is no run to cancel.
      for (let at = moment === "before" ? 2 : 1; at <= calm.count; at++) {
        const when = `${moment} operation ${at}`;
        const { on, outcome, bodies, seen, swept, late } = await cancelAt(moment, at);
        expect(seen!.alive, when).toEqual([]);
        expect(outcome.status, when).toBe(seen!.status);
        // Between an append and its acknowledgement one more body may begin; its result is never recorded.
        expect(bodies.length - seen!.begun, when).toBeLessThanOrEqual(moment === "after" ? 1 : 0);
        if (seen!.status === "cancelled") {
          cancelled += 1;
          for (const body of seen!.running) expect(body, when).toMatchObject({ told: true });
        }
        expect(late, `written after an end, ${when}`).toEqual([]);
        expect(swept.outcomes, `still due, ${when}`).toEqual([]);
        const open = Object.values(await standings(on.storage)).filter((status) =>
          /running|suspended/.test(status),
        );
        expect(open, when).toEqual([]);
      }
      expect(cancelled).toBeGreaterThan(25);
    },
  );

  test("ends a child that was opened and not yet begun: a later start finds it ended", async () => {
    const on = lab();
    let bodies = 0;
    const kid = durable("kid", (ctx, n: number) => ctx.step("work", () => void (bodies += n)));
    const flow = durable("parent", (ctx) => ctx.child(kid, 5));
    await dieAt(on, flow, 2, { quiet: 10 });
    expect(await childrenOf(on.storage, "r")).toEqual([]);
    expect(await flow.with({ ...on }).cancel("r")).toMatchObject({ status: "cancelled" });
    const child = await childOf(on);
    expect(child).toMatchObject({ status: "cancelled", workflow: "kid" });
    expect(await kindsOf(kid.with({ ...on }).get(child.runId))).toEqual(["run.started", "run.cancelled"]);
    // A driver that had not heard of it begins the child now.
    expect(
      await on.world.run(
        kid
          .with({ ...on })
          .run(5, { id: child.runId })
          .catch((e: DurableError) => e.code),
      ),
    ).toBe("input-mismatch");
    expect(
      await on.world.run(createApp({ ...on, workflows: [flow, kid] }).advance(child.runId)),
    ).toMatchObject({ status: "cancelled" });
    expect(bodies).toBe(0);
  });

  test("reaches parked children of children, from any caller; a second cancel changes nothing", async () => {
    const on = lab();
    const toy = durable("toy", (ctx) => ctx.suspend("never"));
    const kid = durable("kid", (ctx) => Promise.all([ctx.child(toy), ctx.sleep("1y")]));
    const flow = durable("parent", (ctx) => ctx.parallel([(c) => c.child(kid), (c) => c.child(kid)]));
    const parked = await runOf(on, flow);
    expect(await flow.with({ ...on }).cancel("r", { reason: "enough" })).toMatchObject({
      status: "cancelled",
    });
    expect(Object.values(await standings(on.storage))).toEqual(Array.from({ length: 5 }, () => "cancelled"));
    const [child] = await childrenOf(on.storage, "r");
    const end = (
      await kid
        .with({ ...on })
        .get(child!.runId)
        .entries()
    ).at(-1);
    expect(end).toMatchObject({ kind: "run.cancelled", reason: "Run r does not need it any more." });
    const before = await batchesOf(on);
    expect(await flow.with({ ...on }).cancel("r")).toMatchObject({ status: "cancelled", recorded: true });
    expect(await batchesOf(on)).toEqual(before);
    const resumed = await flow.with({ ...on }).resume(tokenOf(parked), "late");
    expect(resumed).toMatchObject({ status: "expired" });
  });

  test.each([
    { children: 1, driver: 0, caller: 200 },
    { children: 5, driver: 0, caller: 0 },
    { children: 5, driver: 5, caller: 5 },
    { children: 20, driver: 1, caller: 200 },
  ])(
    "is no failure of its children in the eyes of the workflow, however slow: %o",
    async ({ children, driver, caller }) => {
      const on = lab();
      const ran: string[] = [];
      const kid = durable("kid", (ctx, n: number) =>
        ctx.step(`long ${n}`, ({ signal }) => {
          ran.push("long");
          signal.addEventListener("abort", () => ran.push("told"));
          return pause(on.world, 3_600_000);
        }),
      );
      const items = Array.from({ length: children }, (_, n) => n);
      const flow = durable("parent", async (ctx) => {
        for (let tries = 0; tries < 3; tries++) {
          await ctx
            .map(items, (c, n) => c.child(kid, n))
            .catch(() => ctx.step("compensate", () => ran.push("compensate")));
        }
      });
      const slow = (ms: number) => ({ ...on, storage: hooked(on.storage, () => pause(on.world, ms)) });
      const driving = flow.with(slow(driver)).run(undefined, { id: "r" });
      await on.world.advance(1_000);
      const cancelled = await on.world.run(flow.with(slow(caller)).cancel("r"));
      expect(cancelled).toMatchObject({ status: "cancelled" });
      expect(await alive(on)).toEqual([]);
      expect(await on.world.run(driving)).toMatchObject({ status: "cancelled" });
      await on.world.advance(120_000);
      expect(ran.toSorted()).toEqual([...items.map(() => "long"), ...items.map(() => "told")].toSorted());
      expect(await childrenOf(on.storage, "r")).toHaveLength(children);
    },
  );

  test("that is under way when a child is opened ends that one, too", async () => {
    let late = 0;
    for (let ms = 0; ms < 600; ms += 20) {
      const on = lab();
      const kid = durable("kid", (ctx, n: number) => ctx.step(`work ${n}`, () => pause(on.world, 70)));
      const flow = durable("parent", async (ctx) => {
        for (let n = 0; n < 20; n++) await ctx.child(kid, n);
      });
      const slow = { ...on, storage: hooked(on.storage, () => pause(on.world, 10)) };
      const driving = flow.with(slow).run(undefined, { id: "r" });
      await on.world.advance(100 + ms);
      const known = (await childrenOf(on.storage, "r")).length;
      expect(await on.world.run(flow.with(slow).cancel("r")), `${ms}`).toMatchObject({ status: "cancelled" });
      expect(await alive(on), `${ms}`).toEqual([]);
      expect(await on.world.run(driving)).toMatchObject({ status: "cancelled" });
      if ((await childrenOf(on.storage, "r")).length > known) late += 1;
    }
    expect(late).toBeGreaterThan(10);
  });

  test("whose caller dies with some children ended: the parent's calls fail as cancelled, and it goes on", async () => {
    const on = lab();
    const kid = durable("kid", (ctx, n: number) => ctx.step(`long ${n}`, () => pause(on.world, 3_600_000)));
    const flow = durable("parent", (ctx) =>
      ctx.map([1, 2, 3], (c, n) => c.child(kid, n).catch(({ code }: DurableError) => code)),
    );
    const driving = flow.with({ ...on }).run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const dying = faultyStorage(on.storage, {
      world: on.world,
      plan: (operation, index) => (operation === "append" && index === 2 ? "crash-after" : null),
    });
    await on.world.run(Promise.race([flow.with({ ...on, storage: dying }).cancel("r"), dying.died]));
    const statuses = (await childrenOf(on.storage, "r")).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(["cancelled", "cancelled", "running"]);
    const output = outputOf(await on.world.run(driving)) as unknown[];
    expect(output.map(String).toSorted()).toEqual(["cancelled", "cancelled", "undefined"]);
  });
});
