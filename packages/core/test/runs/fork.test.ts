import { createHash } from "node:crypto";
import { createApp, durable, fork, MemoryStorage, type Outcome, type Run, type Storage } from "@durable/core";
import { countingStorage, faultyStorage, seeded, virtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { causedBy, leaves, randomTree, treeFlow, type Tree } from "../support/fork-trees.ts";

const secret = "a secret for tests, of no worth";

function setUp(seed: number) {
  const world = virtualWorld({ seed });
  const random = seeded(seed * 7 + 1);
  const storage = new MemoryStorage({ now: () => world.now() });
  const { flow, effects } = treeFlow(world, random);
  return { world, random, storage, effects, flow: flow.with({ world, storage, secret }) };
}

async function hash(storage: Storage, runId: string): Promise<string> {
  const { runs } = await storage.list({ limit: 1_000 });
  const { batches } = await storage.read(runs.find((run) => run.runId === runId)!.locator);
  return createHash("sha256").update(batches.join("\n")).digest("hex");
}

/** Answers every wait until the run is over; returns the keys that had to be answered. */
async function toTheEnd(run: Run<unknown, Tree>, set: ReturnType<typeof setUp>): Promise<string[]> {
  const answered: string[] = [];
  const { world, flow } = set;
  await world.run(run.result().catch(() => {}));
  for (;;) {
    const outcome = (await run.outcome()) as Outcome<string>;
    if (outcome.status === "completed") return answered;
    if (outcome.status !== "suspended") throw new Error(`The run is ${outcome.status}.`);
    for (const { token, key } of outcome.waiting) {
      answered.push(key);
      await world.run(flow.resume(token, `answer to ${key}`));
    }
  }
}

describe("fork at every step of random trees", () => {
  test.each(Array.from({ length: inject("full") ? 24 : 3 }, (_, i) => i + 1))(
    "seed %i: what is reused equals the causal model",
    async (seed) => {
      const set = setUp(seed);
      const { world, random, storage, flow, effects } = set;
      const tree = randomTree(random, random.between(4, 14));
      const parent = await world.run(flow.start(tree, { id: "parent" }));
      await toTheEnd(parent, set);
      const before = await hash(storage, "parent");
      const all = leaves(tree);
      for (const key of all) {
        for (const how of ["from", "after"] as const) {
          effects.length = 0;
          const child = await world.run(flow.fork("parent", { [how]: key, label: `${how} ${key}` }));
          const answered = await toTheEnd(child, set);
          const again = [...(how === "from" ? [key] : []), ...causedBy(tree, key)].toSorted();
          const done = [...effects, ...answered].toSorted();
          expect(done, `${how} ${key}`).toEqual(again);
          if (random.chance(0.2)) {
            // A fork of the fork, at a step of its own choosing, follows the same model.
            const second = random.pick(all);
            effects.length = 0;
            const grandchild = await world.run(fork(child, { from: second }));
            const more = await toTheEnd(grandchild, set);
            expect([...effects, ...more].toSorted(), `${key}, then ${second}`).toEqual(
              [second, ...causedBy(tree, second)].toSorted(),
            );
          }
        }
      }
      expect(await hash(storage, "parent")).toBe(before);
    },
  );

  test.each(inject("full") ? [101, 102, 103, 104, 105, 106] : [101])(
    "seed %i: a parent that is still waiting can be forked at every settled key",
    async (seed) => {
      const set = setUp(seed);
      const { world, random, storage, flow, effects } = set;
      const tree: Tree = {
        kind: "sequence",
        children: [randomTree(random, 8), { kind: "suspend", name: "last", key: "last" }],
      };
      const parent = await world.run(flow.start(tree, { id: "parent" }));
      await world.run(parent.result().catch(() => {}));
      const before = await hash(storage, "parent");
      const entries = await parent.entries();
      const settled = entries.flatMap((e) =>
        e.kind === "step.completed" || e.kind === "suspend.resolved" ? [e.key] : [],
      );
      expect(settled.length).toBeGreaterThan(0);
      for (const key of settled) {
        effects.length = 0;
        const child = await world.run(flow.fork("parent", { from: key }));
        await toTheEnd(child, set);
        const kept = settled.filter((other) => other !== key && !causedBy(tree, key).includes(other));
        expect(
          effects.filter((effect) => kept.includes(effect)),
          key,
        ).toEqual([]);
        expect(effects).toContain(key);
      }
      expect(await hash(storage, "parent")).toBe(before);
    },
  );
});

describe("what a fork is", () => {
  const made = () => {
    const world = virtualWorld();
    const storage = countingStorage(new MemoryStorage({ now: () => world.now() }));
    const bodies: string[] = [];
    const body = (name: string, value: unknown) => () => {
      bodies.push(name);
      return value;
    };
    const flow = durable(
      "loan",
      async (ctx, input: { sum: number }) => {
        const plan = await ctx.step("plan", body("plan", `plan ${input.sum}`));
        const { credit, value } = await ctx.parallel({
          credit: async (c) => {
            const pulled = await c.step("pull", body("pull", 700));
            return `${pulled} ${await c.suspend<string>("review")}`;
          },
          value: (c) => c.step("appraise", body("appraise", 250)),
        });
        const drawn = ctx.uuid();
        return `${await ctx.step("decide", body("decide", `${plan}, ${credit}, ${value}`))} ${drawn}`;
      },
      { world, storage, secret },
    );
    const toReview = async (id = "parent") => {
      const outcome = await world.run(flow.run({ sum: 5 }, { id }));
      if (outcome.status !== "suspended") throw new Error(outcome.status);
      return outcome.waiting[0]!;
    };
    return { world, storage, flow, bodies, toReview };
  };

  test("an edit replaces a recorded output, and what depends on it runs again", async () => {
    const { world, flow, bodies, toReview } = made();
    await world.run(flow.resume((await toReview()).token, "fine"));
    bodies.length = 0;
    const edited = await world.run(flow.fork("parent", { edit: { pull: 500 } }));
    await world.run(edited.result().catch(() => {}));
    const outcome = await edited.outcome();
    expect(outcome.status).toBe("suspended");
    if (outcome.status !== "suspended") return;
    await world.run(flow.resume(outcome.waiting[0]!.token, "hm"));
    expect(await world.run(edited.result())).toContain("plan 5, 500 hm, 250");
    expect(bodies).toEqual(["decide"]);
    const answered = await world.run(flow.fork("parent", { edit: { review: "never" } }));
    expect(await world.run(answered.result())).toContain("plan 5, 700 never, 250");
  });

  test("an open wait can be given its answer by an edit; a step that never settled, its output", async () => {
    const { world, flow, toReview } = made();
    await toReview();
    const run = await world.run(flow.fork("parent", { edit: { "parallel[credit]/review": "edited" } }));
    expect(await world.run(run.result())).toContain("700 edited");
    const again = await world.run(run.fork({ from: "decide" }));
    expect(await world.run(again.result())).toContain("700 edited");
  });

  test("another input, kept upstream work, label, parent and lineage", async () => {
    const { world, flow, toReview } = made();
    await world.run(flow.resume((await toReview()).token, "ok"));
    const run = await world.run(
      flow.fork("parent", { from: "decide", input: { sum: 9 }, label: "more", id: "child" }),
    );
    await world.run(run.result());
    const [head] = (await flow.list({ parent: "parent" })).runs;
    expect(head).toMatchObject({ runId: "child", parent: "parent", label: "more", status: "completed" });
    // Made again with the same id, as a replayed step would, it is the same run.
    const same = await world.run(flow.fork("parent", { from: "decide", id: "child" }));
    expect(same.id).toBe("child");
    expect((await flow.list({ parent: "parent" })).runs).toHaveLength(1);
  });

  test("H44 new tokens and idempotency keys; the parent's token never resumes the fork", async () => {
    const { world, flow, toReview } = made();
    const parent = await toReview();
    const run = await world.run(flow.fork("parent", { after: "plan" }));
    await world.run(run.result().catch(() => {}));
    const outcome = await run.outcome();
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    expect(outcome.waiting[0]!.token).not.toBe(parent.token);
    await world.run(flow.resume(parent.token, "parent's"));
    expect((await run.outcome()).status).toBe("suspended");
    expect((await world.run(flow.resume(outcome.waiting[0]!.token, "own"))).status).toBe("accepted");
    expect(await world.run(run.result())).toContain("700 own");
    expect(await world.run(flow.get("parent").result())).toContain("700 parent's");
  });

  test("H44 a fork of a fork to depth 100 reads its ancestors at once and ends; the parent may be deleted", async () => {
    const { world, storage, flow, toReview } = made();
    await world.run(flow.resume((await toReview()).token, "deep"));
    let id = "parent";
    for (let depth = 1; depth <= 100; depth++) {
      const run: Run<string, { sum: number }> = await world.run(
        flow.fork(id, { from: "decide", id: `d${depth}` }),
      );
      expect(await world.run(run.result())).toContain("700 deep");
      id = run.id;
    }
    storage.counts.reads = 0;
    await flow.get(id).outcome();
    // The forks in between give nothing of their own, so only the oldest is read.
    expect(storage.counts.reads).toBe(2);
    const app = createApp({ storage, secret, world, workflows: [flow], bind: false });
    await app.delete("parent");
    const last = await world.run(flow.fork(id, { from: "decide" }));
    expect(await world.run(last.result())).toContain("700 deep");
  });

  test("draws of chance are the parent's until the fork's first own entry", async () => {
    const { world, flow, toReview } = made();
    await world.run(flow.resume((await toReview()).token, "x"));
    const parent = await world.run(flow.get("parent").result());
    const late = await world.run(flow.fork("parent", { from: "decide" }));
    expect(await world.run(late.result())).toBe(parent);
    const early = await world.run(flow.fork("parent", { edit: { appraise: 1 }, from: "pull" }));
    await world.run(early.result().catch(() => {}));
    const outcome = await early.outcome();
    if (outcome.status !== "suspended") throw new Error(outcome.status);
    await world.run(flow.resume(outcome.waiting[0]!.token, "x"));
    expect((await world.run(early.result())).split(" ").at(-1)).not.toBe(parent.split(" ").at(-1));
  });

  test.each([
    [{ from: "plann" }, "unknown-step", /no step "plann"\. Did you mean: plan/],
    [{ after: "review" }, "unknown-step", /has not settled/],
    [{ from: "nothing like it" }, "unknown-step", /Did you mean/],
    [{ label: "only" }, "invalid-options", /no place to go back to\. Pass \{ from \}/],
    [{ edit: { parallel: 1 } }, "unknown-step", /no output to edit/],
  ])("%o is refused at once with %s", async (options, code, message) => {
    const { world, flow, toReview } = made();
    await toReview();
    await expect(world.run(flow.fork("parent", options))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test("groups and branches can be named as well", async () => {
    const { world, flow, bodies, toReview } = made();
    await world.run(flow.resume((await toReview()).token, "x"));
    bodies.length = 0;
    const group = await world.run(flow.fork("parent", { from: "parallel" }));
    await world.run(group.result().catch(() => {}));
    expect(bodies.toSorted()).toEqual(["appraise", "pull"]);
    bodies.length = 0;
    const after = await world.run(flow.fork("parent", { after: "parallel" }));
    await world.run(after.result());
    expect(bodies).toEqual(["decide"]);
    bodies.length = 0;
    const branch = await world.run(flow.fork("parent", { from: "parallel[value]" }));
    await world.run(branch.result());
    expect(bodies).toEqual(["appraise", "decide"]);
  });
});

test("whoever reads a stream that a fork edited gets the edited chunks, as its workflow does", async () => {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const flow = durable("streams", (ctx) => ctx.stream("tokens", () => ["a", "b", "c"])).with({
    world,
    storage,
    secret,
  });
  await world.run(flow.run(undefined, { id: "parent" }));
  const read = async (run: Run): Promise<unknown[]> => {
    const events: unknown[] = [];
    for await (const event of run.stream("tokens"))
      events.push(event.type === "chunk" ? [event.index, event.value] : event);
    return events;
  };
  for (const chunks of [["x", "y"], ["p", "q", "r", "s"], []]) {
    const fork = await world.run(flow.fork("parent", { edit: { tokens: chunks } }));
    expect(await world.run(fork.result())).toEqual(chunks);
    expect(await world.run(read(fork))).toEqual(chunks.map((chunk, index) => [index, chunk]));
    const again = await world.run(flow.fork(fork.id, { after: "tokens" }));
    expect(await world.run(read(again))).toEqual(chunks.map((chunk, index) => [index, chunk]));
  }
});

test("a connection that is lost while an ancestor is read says so, and the journal is not called corrupt", async () => {
  const world = virtualWorld();
  const base = new MemoryStorage({ now: () => world.now() });
  const flow = durable("two", async (ctx) => [
    await ctx.step("plan", () => 1),
    await ctx.step("write", () => 2),
  ]);
  const calm = flow.with({ storage: base, world, secret });
  await world.run(calm.run(undefined, { id: "parent" }));
  await world.run((await calm.fork("parent", { from: "write", id: "child" })).result());
  const plan = (operation: string, index: number) =>
    operation === "read" && index === 2 ? "lose-request" : null;
  const storage = faultyStorage(base, { world, plan });
  const child = flow.with({ storage, world, secret }).get("child");
  await expect(world.run(child.outcome())).rejects.toThrow("The connection was lost during read.");
  expect(await world.run(child.outcome())).toMatchObject({ status: "completed", output: [1, 2] });
});
