/** One journey, act by act. Each act may be done by another build: it gets all that it needs from the outcome before. */

import type { Outcome } from "@durable/core";
import { expect } from "vitest";
import { tokensOf, type Process } from "./two-builds.ts";
import type { Journey } from "./two-builds-flows.ts";

export const journeyId = "journey-1";

export type Stop = Outcome<unknown>;

interface Act {
  /** The wait that it answers. */
  readonly key?: string;
  play(by: Process, before: Stop): Promise<Stop>;
}

/** Drives the run until only an answer or time can help. */
export async function onward({ world, app }: Process): Promise<Stop> {
  await world.advance(1_000);
  return world.run(app.advance(journeyId));
}

function answer(key: string, value: unknown): Act {
  const play: Act["play"] = async (by, before) => {
    const token = tokensOf(before)[key] ?? "";
    expect(await by.world.run(by.app.resume(token, value)), key).toMatchObject({ status: "accepted" });
    return onward(by);
  };
  return { key, play };
}

function afterDays(days: number): Act {
  const play: Act["play"] = async (by) => {
    await by.world.advance(days * 86_400_000);
    return onward(by);
  };
  return { play };
}

export const acts: readonly Act[] = [
  {
    play: ({ world, flows, host }) =>
      world.run(flows.journey.with(host).run({ to: "sea" }, { id: journeyId })),
  },
  answer("parallel[visa]/visa", "granted"),
  answer("parallel[errand]/errand/ask", "yes"),
  afterDays(3),
  afterDays(1),
  {
    play: async (by, before) => {
      const told = await by.world.run(by.app.deliver(tokensOf(before)["rate"] ?? "", { stars: "five" }));
      expect(told).toMatchObject({ status: "accepted" });
      return onward(by);
    },
  },
  answer("rate", { stars: 5 }),
];

/** Plays acts, each in the process that is chosen for it. Returns where the run stopped after each. */
export async function play(
  by: (act: number) => Process,
  { from = 0, to = acts.length, before = [] }: { from?: number; to?: number; before?: readonly Stop[] } = {},
): Promise<Stop[]> {
  const stops = [...before];
  for (let act = from; act < to; act++) stops.push(await acts[act]!.play(by(act), stops.at(-1) as Stop));
  return stops;
}

/** Continues after a process died in an act: drives the run, and answers again where no answer was recorded. */
export async function recover(by: Process, act: number): Promise<Stop> {
  const stop = await onward(by);
  const { key = "" } = acts[act]!;
  return key in tokensOf(stop) ? acts[act]!.play(by, stop) : stop;
}

/** The output of a journey that has ended. */
export function journeyOf(stop: Stop | undefined): Journey {
  expect(stop).toMatchObject({ status: "completed" });
  return (stop as Stop & { output: Journey }).output;
}
