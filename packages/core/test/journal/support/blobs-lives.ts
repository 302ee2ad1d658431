/** One run from its start to its end, in as many lives as its storage leaves it; hurt at one append at the most. */

import type { Outcome, Workflow } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { faultyStorage, type Fault } from "@durable/testing";
import { pause, type Lab } from "../../support/behaviour-lab.ts";

export interface SealedLab extends Lab {
  readonly encryption?: Cipher;
}

/** What the run is given: its input, and an answer for each of its waits. */
export interface Given<Input> {
  readonly id: string;
  readonly input: Input;
  readonly answers: Readonly<Record<string, unknown>>;
}

export interface Hurt {
  readonly append: number;
  readonly fault: Fault;
}

/** Runs and answers until the run is over. */
export async function toTheEnd<Input, Output>(
  lab: SealedLab,
  flow: Workflow<Input, Output>,
  { id, input, answers }: Given<Input>,
): Promise<Outcome<Output>> {
  const bound = flow.with({ ...lab, patience: "3h" }) as Workflow<unknown, Output>;
  for (;;) {
    // Whoever calls hears of a storage that did not answer, and calls again.
    const outcome = await bound.run(input, { id }).catch(() => null);
    if (outcome !== null && outcome.status !== "running" && outcome.status !== "suspended") return outcome;
    for (const { token, name } of outcome?.status === "suspended" ? outcome.waiting : [])
      if (Object.hasOwn(answers, name)) await bound.resume(token, answers[name]).catch(() => null);
    await pause(lab.world, 1_000);
  }
}

/** The fault happens in the first life; others come until the run is over. */
export async function livesOf<Input, Output>(
  lab: SealedLab,
  flow: Workflow<Input, Output>,
  given: Given<Input>,
  hurt: Hurt | null = null,
): Promise<{ readonly end: Outcome<Output>; readonly appends: number }> {
  let appends = 0;
  for (let life = 1; ; life++) {
    const storage = faultyStorage(lab.storage, {
      world: lab.world,
      plan: (operation, index) =>
        life === 1 && operation === "append" && index === hurt?.append ? hurt.fault : null,
    });
    const end = await lab.world.run(
      Promise.race([toTheEnd({ ...lab, storage }, flow, given), storage.died.then(() => null)]),
    );
    if (life === 1) appends = storage.counts.append;
    if (end !== null) return { end, appends };
    await lab.world.advance(60_000);
  }
}
