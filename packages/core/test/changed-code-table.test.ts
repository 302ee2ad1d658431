/** Changes of code under a parked run: the engine, `replayRun`, a plan and golden journals say the same. */

import {
  createApp,
  durable,
  type App,
  type Context,
  type ForkOptions,
  type Outcome,
  type Run,
} from "@durable/core";
import { replayRun } from "@durable/core/inspect";
import { recordGolden, replayGolden } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import type { Session } from "../../cli/src/session.ts";
import { checkRuns } from "../../cli/src/doctor/runs.ts";
import { lab, secret, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { below, note, pay, plain, rows, type Body } from "./support/changed-code-rows.ts";

async function parked(was: Body) {
  const on = lab();
  const done: string[] = [];
  const flow = (body: Body, version: string) =>
    durable("flow", (ctx: Context) => body(ctx, (what) => void done.push(what)), { version });
  const app = (body: Body, version = "2") =>
    createApp({ ...on, patience: 0, workflows: [flow(body, version), below] });
  const outcome = await on.world.run(
    flow(was, "1")
      .with({ ...on, patience: 0 })
      .run(undefined, { id: "r" }),
  );
  expect(outcome.status).toBe("suspended");
  return { on, app, flow, outcome, done };
}

describe("every tool says what the engine then does", () => {
  test.each(rows)("$change", async ({ was, now, engine, replay }) => {
    const { on, app, flow, done } = await parked(was);
    const golden = await recordGolden(on.storage, "r");
    const before = [...done];
    const { verdict, error } = await on.world.run(replayRun(app(now), "r"));
    expect(verdict).toBe(replay);
    expect(error?.code).toBe(replay === "diverged" ? "diverged" : undefined);
    expect(done, "a replay runs nothing").toEqual(before);
    expect(await doctorOf(on, app(now))).toEqual(
      { same: "ok", changed: "ok", unsure: "warn", diverged: "fail" }[replay],
    );
    const report = await replayGolden(golden, { against: flow(now, "2"), report: true, secret });
    const [first] = report.journals;
    const driven: Outcome<unknown> = await on.world.run(app(now).advance("r"));
    expect(driven.status === "blocked").toBe(engine !== "goes on");
    if (engine === "blocked") {
      expect(done, "nothing ran").toEqual(before);
      expect(first?.verdict).toBe("diverged");
      expect(driven.status === "blocked" && driven.error.message).toBe(error?.message);
    }
    if (engine === "later") expect(first?.verdict).toMatch(/^would run/);
    if (replay === "same") expect(first?.verdict).toBe("replays");
    if (replay === "changed") expect(driven.status).not.toBe("blocked");
  });
});

/** What `durable doctor` says of the code on disk. */
async function doctorOf({ storage, world }: Lab, app: App): Promise<string | undefined> {
  const session = { app, storage, place: null, label: "", appFile: "app.ts", prices: undefined };
  const findings = await world.run(checkRuns(session as unknown as Session, world.now(), String));
  return findings.find(({ check }) => check === "diverged")?.level;
}

/** A fork, and whether its plan was right about it. */
async function planned({ world }: Lab, run: Run, place: ForkOptions, done: readonly string[]) {
  const where = JSON.stringify(place);
  const plan = await world.run(run.plan(place));
  const before = [...done];
  const fork = await world.run(run.fork(place));
  await world.advance(5_000);
  const outcome = await world.run(fork.outcome());
  const reason = outcome.status === "blocked" ? outcome.error.message : null;
  const expected = plan.blocked?.message.replace(/Run \S+ /, `Run ${fork.id} `) ?? null;
  if (plan.blocked !== null || plan.unsure.length === 0) expect(reason, where).toBe(expected);
  if (plan.blocked !== null) expect(done, where).toEqual(before);
  return { plan, outcome };
}

const placesIn = async (run: Run): Promise<ForkOptions[]> => {
  const entries = (await run.entries()).filter((entry) => "key" in entry);
  const settled = new Set(entries.filter(({ kind }) => isSettled(kind)).map(({ key }) => key));
  const from = [...new Set(entries.map(({ key }) => key))].map((key) => ({ from: key }));
  return [...from, ...[...settled].map((key) => ({ after: key }))];
};
const isSettled = (kind: string) => /\.(?:completed|fired|resolved)$/.test(kind);

test.each(rows)("a plan says what the fork does: $change", async ({ change, was, now }) => {
  const { on, app, done } = await parked(was);
  const run = app(now).get("r");
  const places = await placesIn(run);
  expect(places.length).toBeGreaterThan(0);
  for (const place of places) {
    const { plan } = await planned(on, run, place, done);
    // Only new work before what is kept leaves it open.
    if (/^nothing|^the work|^the options/.test(change)) expect(plan.unsure).toEqual([]);
  }
});

describe("the plan of a fork", () => {
  const changed: Body = async (ctx, did) => {
    await note(ctx, did, "a");
    await note(ctx, did, "b");
    await pay(ctx, did, "charge-card");
    return ctx.suspend("ok");
  };

  test("is blocked when the fork is, and changes: allow lets both go on", async () => {
    const { on, app, done } = await parked(plain);
    const run = app(changed).get("r");
    const plan = await on.world.run(run.plan({ after: "charge" }));
    expect(plan.blocked).toMatchObject({
      code: "diverged",
      details: { key: "charge", asked: "charge-card" },
    });
    const fork = await on.world.run(run.fork({ after: "charge", id: "f1" }));
    await on.world.advance(5_000);
    expect((await on.world.run(fork.outcome())).status).toBe("blocked");
    expect(done).toEqual(["a", "b", "charge"]);
    const allowed = { after: "charge", changes: "allow" } as const;
    expect((await on.world.run(run.plan(allowed))).blocked).toBe(null);
    const free = await on.world.run(run.fork({ ...allowed, id: "f2" }));
    await on.world.advance(5_000);
    expect((await on.world.run(free.outcome())).status).toBe("suspended");
    expect(done).toEqual(["a", "b", "charge", "charge-card"]);
  });

  test("a call that the fork makes again is not a rename (changes.6)", async () => {
    const { on, app, done } = await parked(plain);
    const reordered = rows.find(({ change }) => change === "steps reordered")!;
    const run = app(reordered.now).get("r");
    const { plan, outcome } = await planned(on, run, { after: "a" }, done);
    expect(plan.unsure).toEqual(["a"]);
    expect(outcome.status).toBe("suspended");
    expect(done).toEqual(["a", "b", "charge", "charge", "b"]);
  });

  test("is unsure where new work hides a change (plan.4)", async () => {
    const { on, app, done } = await parked(plain);
    const hiding: Body = async (ctx, did) => {
      await note(ctx, did, "x", { was: null });
      return changed(ctx, did);
    };
    const { plan, outcome } = await planned(on, app(hiding).get("r"), { after: "charge" }, done);
    expect(plan).toMatchObject({ blocked: null, unsure: ["a", "b", "charge"] });
    expect(outcome.status).toBe("blocked");
  });

  test("a retry that allows changes does not miss a wait that the code no longer has", async () => {
    const on = lab();
    const code = (waits: boolean) =>
      durable("flow", async (ctx: Context) => {
        if (!waits) return "over";
        void ctx.suspend("ok");
        await ctx.step("a", () => 1);
        throw new Error("no");
      });
    await on.world.run(
      code(true)
        .with({ ...on })
        .run(undefined, { id: "r" }),
    );
    const app = createApp({ ...on, workflows: [code(false)] });
    await on.world.run(app.get("r").retry({ drive: false, changes: "allow" }));
    expect((await on.world.run(app.advance("r"))).status).toBe("completed");
  });

  test("a retry may allow changes", async () => {
    const on = lab();
    const done: string[] = [];
    const fails = (name: string) =>
      durable("flow", async (ctx: Context) => {
        await pay(ctx, (what) => void done.push(what), name);
        if (name === "charge") throw new Error("no");
        return "over";
      });
    await on.world.run(
      fails("charge")
        .with({ ...on })
        .run(undefined, { id: "r" }),
    );
    const app = createApp({ ...on, workflows: [fails("charge-card")] });
    await on.world.run(app.get("r").retry({ drive: false, changes: "allow" }));
    expect((await on.world.run(app.advance("r"))).status).toBe("completed");
    expect(done).toEqual(["charge", "charge-card"]);
    await expect(app.get("r").retry({ changes: "yes" as never })).rejects.toMatchObject({
      code: "invalid-options",
    });
  });
});

// ---- random single edits ----

interface Node {
  readonly name: string;
  readonly kind: "pay" | "note" | "loop";
  readonly count: number;
}

type Named = Node & { readonly id: string };

type Edit = "rename" | "insert" | "remove" | "swap" | "loop";

function draw(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Work with a source text of its own, as in a program that was written by hand. */
function workOf(
  node: Node,
  id: string,
): (did: (what: string) => void) => (info: { idempotencyKey: string }) => void {
  const key = node.kind === "note" ? "" : "info.idempotencyKey;";
  // oxlint-disable-next-line no-implied-eval
  return new Function("did", `return (info) => { ${key} did(${JSON.stringify(id)}); }`) as never;
}

function bodyOf(nodes: readonly Named[]): Body {
  return async (ctx, did) => {
    for (const node of nodes)
      for (let i = 0; i < node.count; i++) await ctx.step(node.name, workOf(node, `${node.id}.${i}`)(did));
    await ctx.suspend("ok");
    return ctx.step("end", workOf({ name: "end", kind: "note", count: 1 }, "end")(did));
  };
}

function edited(nodes: readonly Named[], random: () => number) {
  const at = Math.floor(random() * nodes.length);
  const edit = (["rename", "insert", "remove", "swap", "loop"] as const)[Math.floor(random() * 5)] as Edit;
  const node = nodes[at] as Named;
  const next = [...nodes];
  if (edit === "rename") next[at] = { ...node, name: `${node.name} anew` };
  if (edit === "insert")
    next.splice(at, 0, { name: "new", kind: random() < 0.5 ? "pay" : "note", count: 1, id: "new" });
  if (edit === "remove") next.splice(at, 1);
  if (edit === "swap") next.push(...next.splice(at, 1));
  if (edit === "loop") next[at] = { ...node, count: Math.max(1, node.count - 2) };
  return { edit, next, isBeforePaid: edit === "insert" && node.kind !== "note" };
}

/** A fork of the parked run, made by the edited code. */
async function oneFork(nodes: readonly Named[], next: readonly Named[], random: () => number) {
  const { on, app, done } = await parked(bodyOf(nodes));
  const run = app(bodyOf(next)).get("r");
  const places = await placesIn(run);
  const { plan, outcome } = await planned(on, run, places[Math.floor(random() * places.length)]!, done);
  return `${outcome.status}${plan.unsure.length > 0 ? ", unsure" : ""}`;
}

async function oneEdit(seed: number) {
  const random = draw(seed);
  const nodes = Array.from({ length: 2 + Math.floor(random() * 5) }, (_, i) => {
    const kind = (["pay", "note", "loop"] as const)[Math.floor(random() * 3)] as Node["kind"];
    return { name: `s${i}`, kind, count: kind === "loop" ? 5 : 1, id: `n${i}` };
  });
  const { on, app, done, outcome } = await parked(bodyOf(nodes));
  const { edit, next, isBeforePaid } = edited(nodes, random);
  const code = app(bodyOf(next));
  const { verdict } = await on.world.run(replayRun(code, "r"));
  const driven = await on.world.run(code.advance("r"));
  expect(driven.status === "blocked", `seed ${seed}: ${edit}`).toBe(verdict === "diverged");
  if (driven.status !== "blocked") await on.world.run(code.resume(tokenOf(outcome), "yes"));
  const paid = new Set(nodes.filter(({ kind }) => kind !== "note").map(({ id }) => id));
  const twice = done.filter((what, i) => paid.has(what.split(".")[0]!) && done.indexOf(what) !== i);
  expect(twice, `seed ${seed}: ${edit} paid twice`).toEqual([]);
  const fork = await oneFork(nodes, next, random);
  return { edit, isBeforePaid, isBlocked: driven.status === "blocked", fork };
}

test("random single edits: no paid step runs twice, and only an insert before paid work is blocked in vain", async () => {
  const count = inject("full") ? 1_000 : 60;
  const tally: Record<string, number> = {};
  const forks: Record<string, number> = {};
  for (let seed = 1; seed <= count; seed++) {
    const { edit, isBeforePaid, isBlocked, fork } = await oneEdit(seed);
    forks[fork] = (forks[fork] ?? 0) + 1;
    const what = isBeforePaid ? "insert before paid work" : edit;
    if (isBlocked) tally[what] = (tally[what] ?? 0) + 1;
    if (isBlocked) expect(["rename", "insert before paid work"], `seed ${seed}: ${edit}`).toContain(what);
    if (edit === "insert" && isBeforePaid) expect(isBlocked).toBe(true);
  }
  expect(Object.keys(tally).toSorted()).toEqual(["insert before paid work", "rename"]);
  expect(Object.keys(forks)).toEqual(expect.arrayContaining(["suspended", "blocked"]));
  if (count === 1_000)
    console.log(`blocked of ${count} edits: ${JSON.stringify(tally)}; forks: ${JSON.stringify(forks)}`);
}, 120_000);
