/**
 * The workflow of all cells, and the services that it calls. The services note every call, so that a call that should not have been made
 * is seen, whatever the journal says.
 */

import { durable, FatalError, type AnyWorkflow, type Context, type StepInfo } from "@durable/core";
import type { VirtualWorld } from "@durable/testing";
import type { Option } from "./cells.ts";

/** What the code does between its first step and its wait. */
export type Kind =
  | "plain"
  | "long"
  | "stream"
  | "sleep"
  | "fragile"
  | "undone"
  | "parent"
  | "chapter"
  | "slow clean-up";

export interface Input {
  readonly kind: Kind;
  readonly text: string;
  readonly chapter?: number;
}

/** The code that is deployed. In the changed one a step has become a sleep. */
export type Code = "right" | "changed";

/** Texts that must not be readable where runs are encrypted. */
export const canary = (what: string): string => `canary-${what}`;

export interface Call {
  readonly run: string;
  readonly name: string;
  /** Equal for all attempts of a step, and of no other one. */
  readonly id: string;
  readonly from: number;
  /** `null` while it is under way. */
  to: number | null;
  /** `cut`: its signal aborted. */
  how: "under way" | "done" | "threw" | "cut";
}

/** The services that steps call. */
export class Services {
  readonly calls: Call[] = [];
  /** The fragile service works from now on. */
  healed = false;
  readonly #world: VirtualWorld;

  constructor(world: VirtualWorld) {
    this.#world = world;
  }

  under(name: string): boolean {
    return this.calls.some((call) => call.name === name && call.how === "under way");
  }

  /** A call that takes this long, and stops when it is told to. */
  async call(
    run: string,
    name: string,
    { id, signal, ms }: { readonly id: string; readonly signal: AbortSignal; readonly ms: number },
  ): Promise<string> {
    const call: Call = { run, name, id, from: this.#world.now(), to: null, how: "under way" };
    this.calls.push(call);
    const how = await this.#pause(ms, signal);
    const fails = how === "done" && name === "fragile" && !this.healed;
    Object.assign(call, { to: this.#world.now(), how: fails ? "threw" : how });
    if (how === "cut") throw signal.reason;
    if (fails) throw new FatalError(canary("error"));
    return canary(name);
  }

  #pause(ms: number, signal: AbortSignal): Promise<"done" | "cut"> {
    return new Promise((resolve) => {
      const stop = this.#world.timer(ms, () => resolve("done"));
      const cut = (): void => {
        stop();
        resolve("cut");
      };
      if (signal.aborted) cut();
      else signal.addEventListener("abort", cut);
    });
  }
}

const stepMs = 100;
export const longMs = 60_000;

interface Parts {
  readonly services: Services;
  readonly option: Option;
  readonly code: Code;
  readonly kid: AnyWorkflow | null;
}

/** What the code does first. */
async function before(ctx: Context, input: Input, { services, option, code, kid }: Parts): Promise<void> {
  const work =
    (name: string, ms = stepMs) =>
    ({ idempotencyKey: id, signal }: Pick<StepInfo, "idempotencyKey" | "signal">): Promise<string> =>
      services.call(ctx.runId, name, { id, signal, ms });
  const limit = option === "step limit" ? { quota: "api" } : {};
  const undoes = option === "compensation" || input.kind === "undone";
  if (option === "clean-up" || input.kind === "slow clean-up")
    ctx.onCancel(async (c) => {
      const ms = input.kind === "slow clean-up" ? longMs / 2 : stepMs;
      await c.step("tidy", work("tidy", ms));
    });
  if (code === "changed") await ctx.sleep(1_000, { name: "first" });
  else
    await ctx.step("first", work("first"), {
      ...limit,
      ...(undoes && {
        compensate: ({ started: { idempotencyKey }, signal }) =>
          services.call(ctx.runId, "undo", { id: idempotencyKey, signal, ms: stepMs }).then(() => {}),
      }),
    });
  switch (input.kind) {
    case "long":
      return void (await ctx.step("long", work("long", longMs), limit));
    case "stream":
      return void (await ctx.stream("words", async function* ({ signal, idempotencyKey }) {
        yield canary("word");
        yield await work("words", longMs)({ signal, idempotencyKey });
      }));
    case "sleep":
      return ctx.sleep("1 hour");
    case "fragile":
    case "undone":
      return void (await ctx.step("fragile", work("fragile"), { retry: false }));
    case "parent":
      if (kid !== null) await ctx.child(kid, { kind: "plain", text: input.text });
      return;
    case "chapter":
      if (input.chapter === undefined) await ctx.continueAs({ ...input, chapter: 2 });
      return;
    case "plain":
    case "slow clean-up":
  }
}

/** The workflows `work` and `kid`, which differ in name: `work` may have a `kid` as its child. */
export function workflowsOf(services: Services, option: Option, code: Code): AnyWorkflow[] {
  const flow = (name: string, kid: AnyWorkflow | null): AnyWorkflow =>
    durable(
      name,
      async (ctx, input: Input) => {
        await before(ctx, input, { services, option, code, kid });
        const { kind } = input;
        // A step that follows at once, unless the run waits or sleeps meanwhile.
        if (kind !== "plain" && kind !== "chapter" && kind !== "slow clean-up")
          await ctx.step("then", ({ idempotencyKey: id, signal }) =>
            services.call(ctx.runId, "then", { id, signal, ms: stepMs }),
          );
        const answer = await ctx.suspend<string>("go");
        const note = await ctx.receive("note", { timeout: "10 minutes", fallback: null });
        await ctx.step("last", ({ idempotencyKey: id, signal }) =>
          services.call(ctx.runId, "last", { id, signal, ms: stepMs }),
        );
        return { answer, note };
      },
      {
        ...(option === "priority" && { priority: 60 }),
        ...(option === "concurrency" && { concurrency: { max: 1 } }),
        ...(option === "rate" && { rate: { max: 1, per: "10 minutes" } }),
        ...(option === "deadline" && { deadline: deadlineMs }),
        ...(option === "versions" && { version: versionOf(code) }),
      },
    );
  const kid = flow("kid", null);
  return [flow("work", kid), kid];
}

export const deadlineMs = 2 * 3_600_000;
export const rateMs = 10 * 60_000;

export function versionOf(code: Code): string {
  return code === "right" ? "1" : "2";
}
