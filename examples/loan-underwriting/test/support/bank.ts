/** People at the keyboard: each command they type is a process of its own. */

import type { Outcome } from "@durable/core";
import { runDemo, type Ended, type Place } from "example-llm/process";
import type { Decision } from "../../src/loan.ts";

export class Bank {
  readonly place: Place;

  constructor(place: Place) {
    this.place = place;
  }

  type(...args: readonly string[]): Promise<Ended> {
    return runDemo(this.place, { args });
  }

  /** The outcome of a run, as another process reads it; `null` if there is none. */
  async outcome(runId = "loan"): Promise<Outcome<unknown> | null> {
    return this.place.read((app) =>
      app
        .get(runId)
        .outcome()
        .catch(() => null),
    );
  }

  /** Tokens of the reviews that are open, by branch. */
  async tokens(runId?: string): Promise<Record<string, string>> {
    const outcome = await this.outcome(runId);
    if (outcome?.status !== "suspended") return {};
    return Object.fromEntries(
      outcome.waiting.map(({ key, token }) => [/\[(\w+)\]/.exec(key)?.[1] ?? "", token]),
    );
  }

  /** The letter with the decision; empty while there is none. */
  async letter(runId?: string): Promise<string | null> {
    const outcome = await this.outcome(runId);
    return outcome?.status === "completed" ? (outcome.output as Decision).letter : null;
  }

  /** A loan from its application to its decision. */
  async decide(): Promise<void> {
    await this.type("apply");
    for (const token of Object.values(await this.tokens())) await this.type("review", token, "approve");
  }
}
