/** Programs that spend, made up by chance, and a provider that keeps its own books. */

import {
  createApp,
  durable,
  FatalError,
  MemoryStorage,
  type App,
  type Context,
  type Storage,
  type Workflow,
} from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { seeded, virtualWorld, type VirtualWorld } from "@durable/testing";
import { chatStream, createChatHandler, usageOfChat, type ChatInput } from "../../src/chat/index.ts";
import { durableModel, durableTools } from "../../src/index.ts";
import { asked, fakeModel, finish, words, type FakeModel } from "./fake-model.ts";
import { latest } from "./versions.ts";

export type By = "day" | "model" | "workflow" | "label" | "tag";

/** What the provider would bill. */
export interface Billed {
  readonly model: string;
  readonly day: string;
  readonly workflow: string;
  readonly label: string;
  readonly tag: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a program does, one after the other. */
interface Call {
  readonly kind: "ask" | "stream" | "draft" | "research" | "flaky";
  readonly model: number;
  readonly label: string;
}

type Act =
  | Call
  | { readonly kind: "together"; readonly mode: "all" | "settled"; readonly acts: readonly Act[] }
  | { readonly kind: "child"; readonly acts: readonly Act[] }
  /** Late, so that no call of another branch is in flight: its answer would be nobody's. */
  | { readonly kind: "fails" };

interface Plan {
  readonly acts: readonly Act[];
  readonly tag: string;
  /** Whether it is retried after it failed, and whether it is forked at the end. */
  readonly retries: boolean;
  readonly forks: boolean;
}

export const prices = { "model-0": { input: 2, output: 8 }, "model-1": { input: 1, output: 3 } };

type Random = ReturnType<typeof seeded>;

/** Longer than all attempts of a call. */
const lateMs = 60_000;

const simple = ["ask", "stream", "draft", "research", "flaky"] as const;

function actOf(random: Random, depth: number): Act {
  const kind = random.pick(depth === 0 ? simple : ([...simple, "fails", "together", "child"] as const));
  const below = (): Act[] => Array.from({ length: random.between(1, 3) }, () => actOf(random, depth - 1));
  if (kind === "fails") return { kind };
  if (kind === "together") return { kind, mode: random.pick(["all", "settled"]), acts: below() };
  return kind === "child" ? { kind, acts: below() } : callOf(random, kind);
}

function callOf(random: Random, kind: Call["kind"]): Call {
  const model = random.between(0, 2);
  return { kind, model, label: kind === "research" ? `research${model}` : `${kind}${model}` };
}

function planOf(random: Random): Plan {
  return {
    acts: Array.from({ length: random.between(1, 5) }, () => actOf(random, 2)),
    tag: random.pick(["red", "blue", ""]),
    retries: random.between(0, 2) > 0,
    forks: random.between(0, 2) === 0,
  };
}

export class Spenders {
  readonly billed: Billed[] = [];
  readonly app: App;
  readonly #world: VirtualWorld;
  readonly #random: Random;
  readonly #models: readonly FakeModel[];
  readonly #failed = new Set<string>();
  readonly #parent: Workflow<Plan, void>;
  readonly #child: Workflow<Plan, void>;
  /** Chats are watched by viewers, whose time is real: it begins on a day of its own. */
  readonly #chats: App;
  readonly #chatTime = { ...systemWorld, now: () => Date.parse("2026-02-01T01:00:00Z") + performance.now() };
  readonly #lists = { storage: new MemoryStorage() };

  constructor(seed: number, storage: Storage) {
    this.#random = seeded(seed);
    this.#world = virtualWorld({ start: Date.parse("2026-03-01T15:00:00Z") });
    this.#models = [0, 1, 2].map((n) => this.#model(`model-${n}`));
    this.#child = durable("inner", (ctx, plan: Plan) => this.#perform(ctx, plan, "inner", plan.acts));
    this.#parent = durable("outer", (ctx, plan: Plan) => this.#perform(ctx, plan, "outer", plan.acts), {
      tags: ({ tag }) => (tag === "" ? {} : { team: tag }),
    });
    this.app = createApp({
      workflows: [this.#parent, this.#child],
      storage,
      world: this.#world,
      prices,
      patience: "30 days",
      bind: false,
    });
    const chat = durable("chat", (ctx, input: ChatInput) => this.#answer(ctx, input));
    const world = this.#chatTime;
    this.#chats = createApp({ workflows: [chat], storage, world, prices, patience: "1m", bind: false });
  }

  /** A chat of some messages, each answered by a run. Returns what it used by its own sum. */
  async chat(chatId: string): Promise<{ inputTokens: number; outputTokens: number; unknown: number }> {
    const authorize = () => true;
    const handler = createChatHandler(this.#chats, { workflow: "chat", journal: this.#lists, authorize });
    const rounds = this.#random.between(1, 3);
    for (let n = 1; n <= rounds; n++) {
      const acts = Array.from({ length: this.#random.between(1, 3) }, () =>
        callOf(this.#random, this.#random.pick(simple)),
      );
      const messages = [{ id: `m${n}`, role: "user", parts: [{ type: "text", text: JSON.stringify(acts) }] }];
      const body = JSON.stringify({ id: chatId, trigger: "submit-message", messages });
      const headers = { "content-type": "application/json" };
      await (await handler(new Request("http://chat/api/chat", { method: "POST", headers, body }))).text();
    }
    for (const { runId } of (await this.#chats.list({ workflow: "chat", status: "running" })).runs)
      await this.#chats.get(runId).result();
    return (await usageOfChat(this.#chats, chatId, { journal: this.#lists })).total;
  }

  /** Makes the calls that the message names, and streams the words of one more. */
  async #answer(ctx: Context, { messages }: ChatInput): Promise<void> {
    const [{ parts }] = messages as [{ parts: { text: string }[] }];
    const where = { workflow: "chat", tag: "" };
    for (const act of JSON.parse(parts[0]?.text ?? "[]") as Call[]) await this.#call(ctx, act, where);
    const prompt = JSON.stringify({ model: "model-1", label: "stream", ...where });
    const model = durableModel(ctx, this.#models[1] as FakeModel);
    await chatStream(ctx, latest.ai.streamText({ model, prompt }).toUIMessageStream());
  }

  /** Runs a program, retries it where it failed, and forks it. */
  async play(id: string): Promise<void> {
    const plan = planOf(this.#random);
    await this.#world.run(this.#settled(id, plan));
    // Between programs, so that no call begins on one day and ends on the next.
    await this.#world.run(new Promise<void>((later) => void this.#world.timer(7 * 3_600_000, later)));
  }

  async #settled(id: string, plan: Plan): Promise<void> {
    const first = await this.app.run(this.#parent, plan, { id });
    const run = this.app.get(id);
    if (first.status === "failed" && plan.retries) {
      await run.retry();
      await this.app.advance(id);
    }
    if (!plan.forks) return;
    const keys = (await run.entries()).flatMap((entry) =>
      entry.kind === "step.completed" ? [entry.key] : [],
    );
    const from = keys.find((key) => !key.includes("/"));
    if (from === undefined) return;
    const fork = await this.app.fork(this.#parent, id, { from, id: `${id}-fork` });
    await fork.result().catch(() => {});
  }

  /** The sums of the provider. */
  bill(by: By): Map<string, { inputTokens: number; outputTokens: number; cost: number | null }> {
    const sums = new Map<string, { inputTokens: number; outputTokens: number; cost: number | null }>();
    for (const { inputTokens, outputTokens, ...about } of this.billed) {
      const sum = sums.get(about[by]) ?? { inputTokens: 0, outputTokens: 0, cost: 0 };
      const price = (prices as Record<string, { input: number; output: number }>)[about.model];
      const cost = price && (inputTokens * price.input + outputTokens * price.output) / 1_000_000;
      sums.set(about[by], {
        inputTokens: sum.inputTokens + inputTokens,
        outputTokens: sum.outputTokens + outputTokens,
        cost: sum.cost === null || cost === undefined ? null : sum.cost + cost,
      });
    }
    return sums;
  }

  #bill(about: string): { readonly inputTokens: number; readonly outputTokens: number } {
    const counted = { inputTokens: this.#random.between(1, 900), outputTokens: this.#random.between(1, 90) };
    const billed = JSON.parse(about) as Billed;
    const world = billed.workflow === "chat" ? this.#chatTime : this.#world;
    const day = new Date(world.now()).toISOString().slice(0, 10);
    this.billed.push({ ...billed, day, ...counted });
    return counted;
  }

  #model(modelId: string): FakeModel {
    const used = (call: Parameters<typeof asked>[0]) => {
      const { inputTokens: input, outputTokens: output } = this.#bill(asked(call));
      return {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output, text: output, reasoning: 0 },
      };
    };
    const base = fakeModel(() => "said");
    return {
      ...base,
      modelId,
      doGenerate: async (call) => ({ ...(await base.doGenerate(call)), usage: used(call) }),
      doStream: async (call) => {
        const end = { ...finish(), usage: used(call) } as ReturnType<typeof finish>;
        return { stream: (await fakeModel(() => words("a few words", [end])).doStream(call)).stream };
      },
    };
  }

  async #perform(ctx: Context, plan: Plan, workflow: string, acts: readonly Act[]): Promise<void> {
    for (const act of acts) await this.#act(ctx, plan, workflow, act);
  }

  async #act(ctx: Context, plan: Plan, workflow: string, act: Act): Promise<unknown> {
    if (act.kind === "child") return ctx.child(this.#child, { ...plan, acts: act.acts });
    if (act.kind === "together")
      return ctx.parallel(
        act.acts.map((one) => (branch: Context) => this.#act(branch, plan, workflow, one)),
        { mode: act.mode as "settled" },
      );
    if (act.kind === "fails") {
      await ctx.sleep(lateMs);
      return ctx.step("fails", () => {
        // A run fails once: its retry, and its forks, go on.
        const isFirst = !this.#failed.has(ctx.runId);
        this.#failed.add(ctx.runId);
        if (isFirst) throw new FatalError("not today");
      });
    }
    return this.#call(ctx, act, {
      workflow,
      tag: workflow === "inner" || plan.tag === "" ? "" : `team=${plan.tag}`,
    });
  }

  async #call(
    ctx: Context,
    { kind, model, label }: Call,
    where: Pick<Billed, "workflow" | "tag">,
  ): Promise<unknown> {
    const modelId = `model-${model}`;
    const live = this.#models[model] as FakeModel;
    const about = (as: string): string => JSON.stringify({ model: modelId, label: as, ...where });
    const { ai } = latest;
    if (kind === "ask") return ai.generateText({ model: durableModel(ctx, live), prompt: about("generate") });
    if (kind === "stream")
      return ai.streamText({ model: durableModel(ctx, live), prompt: about("stream") }).text;
    if (kind === "research") {
      const tools = durableTools(ctx, {
        [label]: {
          execute: async () =>
            (await ai.generateText({ model: durableModel(live), prompt: about(label) })).text,
        },
      });
      const tool = tools[label] as { execute: (input: unknown, given: object) => Promise<string> };
      return tool.execute({}, { toolCallId: ctx.uuid(), messages: [] });
    }
    let tries = 0;
    return ctx.step(
      label,
      async ({ meter, attempt }) => {
        meter({ model: modelId, provider: "fake", ...this.#bill(about(label)) });
        if (kind === "flaky" && attempt === 1 && tries++ === 0) throw new Error("try again");
        return "drafted";
      },
      { retry: { attempts: 2, delay: 10 } },
    );
  }
}
