/** Calls whose name comes from their content, and code whose content changes between two lives of a run. */

import { currentContext, durable, DurableError, type Context } from "@durable/core";
import type { ByContent, Unclaimed } from "@durable/core/storage";
import { describe, expect, test } from "vitest";
import { lab, pause, type Lab } from "../support/behaviour-lab.ts";

interface Judged {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
  readonly calls: number;
}

/** Adapters alone give this option: it is not in the types of users. */
const asAdapter = (byContent: ByContent): object => ({ byContent });

/** Calls named `turn <content>`, which note when they ran and what they were asked to choose from. */
class Turns {
  readonly ran: string[] = [];
  readonly judged: Judged[] = [];
  readonly #choose: (unclaimed: readonly Unclaimed[], calls: number) => string | null;

  constructor(choose: (unclaimed: readonly Unclaimed[], calls: number) => string | null) {
    this.#choose = choose;
  }

  step(ctx: Context, content: string): Promise<string> {
    return ctx.step(`turn ${content}`, () => this.#ran(content), asAdapter(this.#byContent));
  }

  stream(ctx: Context, content: string): Promise<string[]> {
    const producer = async function* (turns: Turns) {
      yield* turns.#ran(content);
    };
    return ctx.stream(`turn ${content}`, () => producer(this), asAdapter(this.#byContent));
  }

  #ran(content: string): string {
    this.ran.push(content);
    return `said ${content}`;
  }

  get #byContent(): ByContent {
    return {
      isOne: (name) => name.startsWith("turn "),
      choose: (unclaimed, calls) => {
        const names = unclaimed.map(({ name }) => name);
        this.judged.push({ names, values: unclaimed.map(({ value }) => value()), calls });
        return this.#choose(unclaimed, calls);
      },
    };
  }
}

const keep = () => new Turns(([one]) => one?.key ?? null);
const ask = () => new Turns(() => null);
const refuse = () =>
  new Turns(() => {
    throw new DurableError("diverged", "The content was changed.");
  });

/** Runs the same id with this code, and from the beginning. */
function life(on: Lab, body: (ctx: Context) => Promise<unknown>, options: { input?: unknown } = {}) {
  return on.world.run(
    durable("flow", (ctx: Context) => body(ctx))
      .with({ ...on })
      .run(options.input as undefined, { id: "r" }),
  );
}

/** Two turns and a wait, so that the run can be driven again. */
const asks =
  (turns: Turns, [one, two]: readonly [string, string], seen: unknown[] = []) =>
  async (ctx: Context) => {
    seen.push(await turns.step(ctx, one), await turns.stream(ctx, two));
    return ctx.suspend("more");
  };

async function recorded(): Promise<Lab> {
  const on = lab();
  const turns = ask();
  await life(on, asks(turns, ["one", "two"]));
  expect(turns.ran).toEqual(["one", "two"]);
  return on;
}

describe("changes.1 a call without a record, beside an unclaimed record of its branch", () => {
  test("is judged before anything begins, and may block the run", async () => {
    const on = await recorded();
    const turns = refuse();
    const also: string[] = [];
    const outcome = await life(on, async (ctx) => {
      const side = ctx.step("side", () => also.push("ran"));
      await turns.step(ctx, "other");
      return side;
    });
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(turns.judged).toEqual([{ names: ["turn one"], values: ["said one"], calls: 1 }]);
    expect([turns.ran, also]).toEqual([[], []]);
  });

  test("takes the outcome over, turn after turn, also from a stream; the work does not run", async () => {
    const on = await recorded();
    const turns = keep();
    const seen: unknown[] = [];
    const outcome = await life(on, asks(turns, ["ONE", "TWO"], seen));
    expect(outcome.status).toBe("suspended");
    expect(turns.ran).toEqual([]);
    expect(seen).toEqual(["said one", Array.from("said two")]);
  });

  test("does the work when the answer is null", async () => {
    const on = await recorded();
    const turns = ask();
    await life(on, asks(turns, ["ONE", "two"]));
    expect(turns.ran).toEqual(["ONE"]);
  });

  test("is a new call once all recorded ones are claimed", async () => {
    const on = await recorded();
    const turns = refuse();
    const outcome = await life(on, async (ctx) => {
      await asks(turns, ["one", "two"])(ctx).catch(() => {});
    });
    expect(outcome.status).toBe("suspended");
    const more = await life(on, async (ctx) => {
      await turns.step(ctx, "one");
      await turns.stream(ctx, "two");
      await turns.step(ctx, "three");
      return ctx.suspend("more");
    });
    expect(more.status).toBe("suspended");
    expect(turns.ran).toEqual(["three"]);
  });

  test("is not compared with other names, with calls of another branch, or with what comes later", async () => {
    const on = lab();
    const first = ask();
    const body = (turns: Turns, third: string) => async (ctx: Context) => {
      await ctx.parallel({
        a: async (inner) => {
          await turns.step(inner, "a1");
          await inner.suspend("wait");
          return turns.step(inner, "a2");
        },
        b: (inner) => turns.step(inner, third),
      });
    };
    await life(on, async (ctx) => {
      await ctx.step("plain", () => 1);
      return body(first, "b1")(ctx);
    });
    const turns = refuse();
    // The plain step is no turn, and the turn of branch a is claimed there.
    const outcome = await life(on, body(turns, "b1"));
    expect(outcome.status).toBe("suspended");
    expect(turns.judged).toEqual([]);
  });
});

describe("changes.2 judged when the code is still", () => {
  test("a strand that is slow to ask for its record does not block another", async () => {
    const on = lab();
    const body = (turns: Turns, slowMs: number, more: readonly string[]) => async (ctx: Context) => {
      await Promise.all([
        (async () => {
          await turns.step(ctx, "a1");
          await pause(on.world, slowMs);
          await turns.step(ctx, "a2");
        })(),
        (async () => {
          await turns.step(ctx, "b1");
          for (const name of more) await turns.step(ctx, name);
        })(),
      ]);
      return ctx.suspend("more");
    };
    await life(on, body(ask(), 0, []));
    const turns = refuse();
    expect((await life(on, body(turns, 700, ["b2", "b3"]))).status).toBe("suspended");
    expect(turns.ran).toEqual(["b2", "b3"]);
    expect(turns.judged).toEqual([]);
  });

  test("two calls do not take the same outcome", async () => {
    const on = await recorded();
    const turns = keep();
    await life(on, async (ctx) => {
      await Promise.all([turns.step(ctx, "x"), turns.step(ctx, "y")]);
      return ctx.suspend("more");
    });
    expect(turns.ran).toEqual(["y"]);
  });

  test("calls that come together are counted", async () => {
    const on = await recorded();
    const turns = refuse();
    await life(on, (ctx) => Promise.all([turns.step(ctx, "x"), turns.step(ctx, "y")]));
    expect(turns.judged[0]).toMatchObject({ names: ["turn one"], calls: 2 });
  });
});

describe("changes.3 what is kept is recorded under its new name", () => {
  test("the next life finds it there, and judges nothing", async () => {
    const on = await recorded();
    await life(on, asks(keep(), ["ONE", "TWO"]));
    const turns = refuse();
    const seen: unknown[] = [];
    const outcome = await life(on, async (ctx) => {
      seen.push(await turns.step(ctx, "ONE"), await turns.stream(ctx, "TWO"), await turns.step(ctx, "three"));
      return ctx.suspend("more");
    });
    expect(outcome.status).toBe("suspended");
    expect(seen).toEqual(["said one", Array.from("said two"), "said three"]);
    expect([turns.ran, turns.judged]).toEqual([["three"], []]);
    const entries = await durable("flow", async () => {})
      .with({ ...on })
      .get("r")
      .entries();
    expect(entries.filter((entry) => "kept" in entry)).toMatchObject([
      { kind: "step.completed", key: "turn ONE", kept: "turn one" },
      { kind: "stream.completed", key: "turn TWO", kept: "turn two" },
    ]);
  });

  test("of several turns in a row, each takes its own, also after a second change", async () => {
    const on = lab();
    const talk =
      (turns: Turns, suffix: string, count: number, seen: string[] = []) =>
      async (ctx: Context) => {
        for (let i = 1; i <= count; i++) seen.push(await turns.step(ctx, `${i}${suffix}`));
        return ctx.suspend("more");
      };
    await life(on, talk(ask(), "", 3));
    const turns = new Turns((unclaimed) => {
      if (unclaimed.length !== 1) throw new DurableError("diverged", `${unclaimed.length} qualify`);
      return unclaimed[0]?.key ?? null;
    });
    for (const suffix of ["a", "b", "", "c"]) {
      const seen: string[] = [];
      expect((await life(on, talk(turns, suffix, 4, seen))).status).toBe("suspended");
      expect(seen).toEqual(["said 1", "said 2", "said 3", "said 4a"]);
    }
    expect(turns.ran).toEqual(["4a"]);
  });

  test("a failure is kept, too, and is the same error", async () => {
    const on = lab();
    const fails = async (ctx: Context, content: string, turns: Turns) => {
      const work = (): never => {
        throw new TypeError("no such model");
      };
      const byContent: ByContent = { isOne: () => true, choose: ([one]) => one?.key ?? null };
      const error = await ctx
        .step(`turn ${content}`, work, { retry: false, ...asAdapter(byContent) })
        .catch((e: Error) => e.cause);
      turns.ran.push(String(error));
      return ctx.suspend("more");
    };
    const [one, two] = [ask(), ask()];
    await life(on, (ctx) => fails(ctx, "one", one));
    await life(on, (ctx) => fails(ctx, "ONE", two));
    expect(two.ran).toEqual(one.ran);
  });

  test("kept for a call that was added before: the call that it belongs to blocks the run, and asks nothing", async () => {
    const on = await recorded();
    const turns = keep();
    const outcome = await life(on, async (ctx) => {
      await turns.step(ctx, "added");
      await turns.step(ctx, "one");
    });
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(outcome).toMatchObject({
      error: { message: expect.stringContaining('"turn one" was kept for "turn added"') },
    });
    expect(turns.ran).toEqual([]);
  });

  test("back to the old content: what was kept is not asked again", async () => {
    const on = await recorded();
    await life(on, asks(keep(), ["ONE", "TWO"]));
    const turns = keep();
    const seen: unknown[] = [];
    await life(on, asks(turns, ["one", "two"], seen));
    expect(seen).toEqual(["said one", Array.from("said two")]);
    expect(turns.ran).toEqual([]);
  });
});

describe("forks", () => {
  const forked = async (options: object) => {
    const on = await recorded();
    const turns = refuse();
    const flow = durable("flow", (ctx: Context) => asks(turns, ["ONE", "TWO"])(ctx)).with({ ...on });
    const run = await on.world.run(flow.get("r").fork({ id: "f", ...options }));
    await on.world.run(run.result().catch(() => {}));
    return { turns, outcome: await on.world.run(run.outcome()) };
  };

  test("with another input or with edits: what is inherited never counts as unclaimed", async () => {
    for (const options of [
      { from: "turn two", input: "another" },
      { edit: { "turn one": "said otherwise" } },
    ]) {
      const { turns, outcome } = await forked(options);
      expect(outcome.status).toBe("suspended");
      expect(turns.ran).toEqual(["ONE", "TWO"]);
    }
  });

  test("without them it does", async () => {
    const { turns, outcome } = await forked({ from: "turn two" });
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(turns.ran).toEqual([]);
  });
});

describe("currentContext", () => {
  test("is the context of the workflow and of its branches, and of nothing else", async () => {
    const on = lab();
    expect(currentContext()).toBeUndefined();
    const flow = durable("flow", async (ctx: Context) => {
      const seen = [currentContext() === ctx];
      await ctx.step("a", () => seen.push(currentContext() === undefined));
      seen.push(currentContext() === ctx);
      await ctx.parallel({
        one: async (inner) => {
          seen.push(currentContext() === inner);
          await inner.step("b", () => 1);
          seen.push(currentContext() === inner);
        },
        two: (inner) => seen.push(currentContext() === inner),
      });
      seen.push(currentContext() === ctx);
      return seen;
    });
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "completed", output: Array(7).fill(true) });
  });
});

describe("replay.4 a stream that says other words in its next life", () => {
  const flow = (body: (ctx: Context) => Promise<unknown>, over: Lab) =>
    durable("flow", (ctx: Context) => body(ctx)).with({ ...over });

  /** What a process that was killed has left. */
  const left = async (body: (ctx: Context) => Promise<unknown>): Promise<{ next: Lab; kinds: string[] }> => {
    const on = lab();
    void flow(body, on).run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const [head] = (await on.storage.list()).runs;
    const { batches } = await on.storage.read(head!.locator);
    const kinds = batches.flatMap((text) =>
      (JSON.parse(text) as { entries: { kind: string }[] }).entries.map(({ kind }) => kind),
    );
    const next = lab();
    for (const [position, batch] of batches.entries())
      await next.storage.append({ locator: head!.locator, position, batch, head: { ...head!, wakeAt: 0 } });
    return { next, kinds: kinds.slice(1) };
  };

  /** A stream that ends only if it may, and what is done about its first word. */
  const hears =
    (said: string, ends: boolean, then: (ctx: Context, word: string) => Promise<unknown>) =>
    async (ctx: Context): Promise<unknown> => {
      const heard = Promise.withResolvers<string>();
      const talk = ctx.stream("talk", async function* () {
        yield said;
        heard.resolve(said);
        if (!ends) await new Promise(() => {});
      });
      // A recorded stream gives its words here.
      void talk.then(([word = ""]) => heard.resolve(word));
      return [await then(ctx, await heard.promise), await talk];
    };

  test("a step about the words may declare other input: it runs, and is found in every later life", async () => {
    const ran: string[] = [];
    const say = (ctx: Context, word: string) =>
      ctx.step("say", () => ran.push(word) && `said ${word}`, { input: word });
    const { next, kinds } = await left(hears("one", false, say));
    expect(kinds).toEqual(["stream.chunks", "step.completed"]);
    const open = (ctx: Context) => hears("two", true, say)(ctx).then(() => ctx.suspend("more"));
    for (const life of [2, 3]) {
      const outcome = await next.world.run(flow(open, next).run(undefined, { id: "r" }));
      expect([outcome.status, life]).toEqual(["suspended", life]);
    }
    expect(ran).toEqual(["one", "two"]);
  });

  test("a wait for the words may stay unreached, and unused results are no warning", async () => {
    const ask = async (ctx: Context, word: string) => {
      await ctx.step(`look at ${word}`, () => 1);
      return word === "one" ? ctx.suspend("is one right?") : "fine";
    };
    const { next, kinds } = await left(hears("one", false, ask));
    expect(kinds).toEqual(["stream.chunks", "step.completed", "suspend.opened"]);
    const outcome = await next.world.run(flow(hears("two", true, ask), next).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "completed", output: ["fine", ["two"]] });
    expect(next.world.warnings.filter((text) => !text.includes("after awaiting"))).toEqual([]);
  });

  test("work that began, and whose outcome is unknown, is not passed over for other words", async () => {
    const pay = (ctx: Context, word: string) =>
      ctx.step("pay", () => (word === "one" ? new Promise(() => {}) : word), {
        input: word,
        onUncertain: "suspend",
      });
    const { next } = await left(hears("one", false, pay));
    const outcome = await next.world.run(flow(hears("two", true, pay), next).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  });

  test("is not blocked, also when the second call was recorded before the first chunk", async () => {
    const first = ask();
    const { next, kinds } = await left(hears("one", false, (ctx, word) => first.step(ctx, word)));
    expect(first.ran).toEqual(["one"]);
    expect(kinds).toEqual(["stream.chunks", "step.completed"]);
    const turns = refuse();
    const acts = hears("two", true, (ctx, word) => turns.step(ctx, word));
    const said = await next.world.run(flow(acts, next).run(undefined, { id: "r" }));
    expect([said.status, turns.judged, turns.ran]).toEqual(["completed", [], ["two"]]);
  });
});

test("equal questions after a foreign await are numbered in their order, without a warning", async () => {
  const on = lab();
  const turns = ask();
  const outcome = await life(on, async (ctx) => {
    await pause(on.world, 10);
    await Promise.all([1, 2, 3].map(() => turns.step(ctx, "same")));
    return ctx.suspend("more");
  });
  expect([outcome.status, turns.ran.length, on.world.warnings]).toEqual(["suspended", 3, []]);
});
