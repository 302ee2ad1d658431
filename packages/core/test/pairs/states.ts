/** Brings a run into a state. */

import { MemoryStorage, type App, type Outcome, type StartOptions, type Duration } from "@durable/core";
import type { Option, State } from "./cells.ts";
import { canary, type Input, type Kind } from "./program.ts";
import { Stage } from "./stage.ts";

const minute = 60_000;

/** The run that the verbs are for. */
export interface Subject {
  readonly id: string;
  /** Of the wait `go`, which may not have been reached yet. */
  readonly token: string;
  readonly input: Input;
  readonly workflow: string;
}

export function inputOf(kind: Kind): Input {
  return { kind, text: canary("input") };
}

/** How a run is started under an option. */
export function startOptions(option: Option, wait: Duration = "1 minute"): StartOptions {
  return {
    drive: false,
    ...(option === "debounce" && { debounce: { key: "k", wait } }),
    ...(option === "singleton" && { singleton: "k" }),
    ...(option === "tags" && { tags: { of: "ann" } }),
  };
}

const kinds: Readonly<Partial<Record<State, Kind>>> = {
  running: "long",
  streaming: "stream",
  sleeping: "sleep",
  failed: "fragile",
  compensated: "undone",
  child: "parent",
  parent: "parent",
  chapter: "chapter",
  cancelling: "slow clean-up",
};

/** The token of the wait `go` in an outcome. */
export function tokenIn(outcome: Outcome<unknown>, key = "go"): string | null {
  const waiting = "waiting" in outcome ? outcome.waiting : [];
  return waiting.find((point) => point.key === key)?.token ?? null;
}

/** The tokens of waits that are not open yet: those of the same run in another storage, which has come further. */
const early = new Map<Kind, Promise<string>>();

async function earlyToken(kind: Kind): Promise<string> {
  const open = (): { storage: MemoryStorage; another: MemoryStorage; close: () => void } => {
    const storage = new MemoryStorage();
    return { storage, another: storage, close: () => {} };
  };
  return Stage.play("none", open, async (stage) => {
    stage.services.healed = true;
    const app = stage.app("right");
    await stage.run(app.start("work", inputOf(kind), { id: "r", drive: false }));
    return reach(stage, "r", async (outcome) => {
      const inner = tokenIn(outcome, "kid/go");
      if (inner !== null) await stage.run(app.resume(inner, "early"));
      return tokenIn(outcome);
    });
  });
}

/** Drives a run without a worker until something holds of it. */
async function reach<T>(
  stage: Stage,
  id: string,
  found: (outcome: Outcome<unknown>) => Promise<T | null> | T | null,
): Promise<T> {
  for (let n = 0; n < 100; n++) {
    const outcome = await stage.run(stage.app("right").advance(id));
    const result = await found(outcome);
    if (result !== null) return result;
    await stage.pass(n < 3 ? 1_000 : minute);
  }
  throw new Error(
    `Run ${id} did not come to its state: ${JSON.stringify(await stage.app("right").get(id).outcome())}`,
  );
}

/** Lets a worker drive until a service is called. */
async function working(stage: Stage, service: string): Promise<void> {
  stage.work();
  for (let n = 0; n < 400 && !stage.services.under(service); n++) await stage.pass(500);
  if (!stage.services.under(service)) throw new Error(`The service ${service} was not called.`);
}

const opens = (stage: Stage, id: string): Promise<string> => reach(stage, id, (outcome) => tokenIn(outcome));
const ends = (stage: Stage, id: string): Promise<true> =>
  reach(stage, id, ({ status }) => (status === "completed" || status === "failed" ? true : null));

/** A run in the state of a cell, without a second run. */
export async function bringTo(stage: Stage, state: State): Promise<Subject> {
  const app = stage.app("right");
  const kind = kinds[state] ?? "plain";
  const input = inputOf(kind);
  const id = state === "fork" ? "base" : "r";
  if (state === "queued" && stage.option === "concurrency") {
    await rival(stage);
    await working(stage, "long");
  }
  const wait = state === "delayed" ? "1 hour" : "1 minute";
  const delayed = state === "delayed" && stage.option !== "debounce";
  await stage.run(
    app.start("work", input, {
      id,
      ...startOptions(stage.option, wait),
      ...(delayed && { delay: "1 hour" }),
    }),
  );
  const subject = { id, input, workflow: "work" };
  if (state === "child") return { ...(await child(stage)), input: inputOf("plain"), workflow: "kid" };
  return { ...subject, ...(await into(stage, state, kind)) };
}

/** A run that competes with the subject, under options that limit something. */
export async function rival(stage: Stage): Promise<void> {
  const limited = stage.option === "concurrency" || stage.option === "rate" || stage.option === "step limit";
  if (limited && (await stage.heads()).every(({ runId }) => runId !== "x"))
    await stage.run(stage.app("right").start("work", inputOf("long"), { id: "x", drive: false }));
}

async function into(stage: Stage, state: State, kind: Kind): Promise<{ token: string; id?: string }> {
  const app = stage.app("right");
  // A worker that begins now finds the run: one that was idle looks again after minutes, where nothing is announced.
  const isHeldBack = state === "queued" || state === "running" || state === "streaming";
  if (isHeldBack && stage.option === "debounce") await stage.pass(minute);
  switch (state) {
    case "queued":
    case "delayed":
      return { token: await ahead(kind) };
    case "running":
    case "streaming":
      await working(stage, state === "running" ? "long" : "words");
      return { token: await ahead(kind) };
    case "sleeping":
      await reach(stage, "r", (outcome) =>
        stage.services.calls.some(({ how }) => how === "done") && outcome.status === "suspended"
          ? true
          : null,
      );
      return { token: await ahead(kind) };
    case "failed":
    case "compensated":
      await ends(stage, "r");
      return { token: await ahead(kind) };
    case "parent":
      await child(stage);
      return { token: await ahead(kind) };
    case "completed": {
      const token = await opens(stage, "r");
      await stage.run(app.resume(token, canary("setup")));
      await stage.pass(11 * minute);
      await ends(stage, "r");
      return { token };
    }
    default:
      return parked(stage, state);
  }
}

/** States of a run whose wait is open. */
async function parked(stage: Stage, state: State): Promise<{ token: string; id?: string }> {
  const app = stage.app("right");
  if (state === "fork") {
    await opens(stage, "base");
    await stage.run(app.get("base").fork({ after: "first", id: "f" }));
    return { token: await opens(stage, "f"), id: "f" };
  }
  const token = await opens(stage, "r");
  if (state === "paused") await stage.run(app.get("r").pause({ reason: "a look at it" }));
  if (state === "blocked") {
    stage.code = "changed";
    await stage.run(stage.app("changed").advance("r"));
  }
  if (state === "cancelling") {
    await stage.run(app.cancel("r", { reason: canary("reason") }));
    await stage.pass(1_000);
  }
  return { token };
}

/** The child of the run `r`, which waits for an answer. */
async function child(stage: Stage): Promise<{ id: string; token: string }> {
  const token = await reach(stage, "r", (outcome) => tokenIn(outcome, "kid/go"));
  const app: App = stage.app("right");
  const [head] = (await stage.run(app.list({ parent: "r" }))).runs;
  return { id: head?.runId ?? "none", token };
}

async function ahead(kind: Kind): Promise<string> {
  const known = early.get(kind) ?? earlyToken(kind);
  early.set(kind, known);
  return known;
}
