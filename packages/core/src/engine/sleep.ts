/** A wait for time. The deadline is taken once, from the driver's clock when the wait opens, and recorded. */

import { endOfTime, toMs, type Duration } from "../duration.ts";
import { DurableError } from "../errors.ts";
import type { Call, Entered } from "./calls.ts";
import type { Engine } from "./engine.ts";
import { deferred, pending, type Deferred } from "./promise.ts";
import type { Scope } from "./scope.ts";

export function sleep(engine: Engine, scope: Scope, until: Duration | Date, name: string): Promise<void> {
  const input = until instanceof Date ? dateText(until) : String(toMs(until, "The length of ctx.sleep"));
  const entered = engine.enter({ scope, kind: "sleep", name, input });
  if (entered === null) return pending();
  const call = new SleepCall(engine, { scope, name, entered, input });
  engine.add(call, name);
  return call.promise;
}

interface SleepParts {
  readonly scope: Scope;
  readonly name: string;
  readonly entered: Entered;
  readonly input: string;
}

class SleepCall implements Call {
  readonly key: string;
  readonly scope: Scope;
  readonly #engine: Engine;
  readonly #parts: SleepParts;
  readonly #outcome: Deferred<void> = deferred();

  constructor(engine: Engine, parts: SleepParts) {
    this.#engine = engine;
    this.#parts = parts;
    this.key = parts.entered.key;
    this.scope = parts.scope;
  }

  get promise(): Promise<void> {
    return this.#outcome.promise;
  }

  settle(): void {
    this.#engine.calls.landed(this, this.#parts.name);
    this.#outcome.resolve();
  }

  begin(): void {
    if (this.#engine.finished) return;
    const { input, entered } = this.#parts;
    const recorded = this.#engine.replay.fact(this.key)?.until ?? null;
    const until = recorded ?? deadline(input, this.#engine.world.now());
    if (recorded === null) {
      this.#engine.write({ kind: "sleep.opened", key: this.key, after: entered.after, until, input });
    }
    this.#engine.timers.wait(this, until);
    this.scope.whenClosed(() => this.#engine.timers.cancel(this));
  }

  due(): void {
    this.#engine.write({ kind: "sleep.fired", key: this.key, after: this.#parts.entered.after });
  }
}

function deadline(input: string, now: number): number {
  return input.includes("T") ? Date.parse(input) : Math.min(now + Number(input), endOfTime);
}

function dateText(date: Date): string {
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new DurableError("invalid-options", "ctx.sleep was given an invalid Date.");
}
