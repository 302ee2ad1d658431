/** A wait for a point in time. The deadline is computed once, from the driver's clock when the wait opens, and recorded. */

import { endOfTime, toMs, type Duration } from "../../values/duration.ts";
import { DurableError } from "../../values/errors.ts";
import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { pending } from "../promise.ts";

/** `isDeadline`: the run may be parked meanwhile, however soon it ends. */
export function sleep(
  engine: CallEngine,
  { scope, name }: Pick<CallParts, "scope" | "name">,
  until: Duration | Date,
  isDeadline = false,
): Promise<void> {
  const input = until instanceof Date ? dateText(until) : `${toMs(until, "The length of ctx.sleep")} ms`;
  const entered = engine.enter({ scope, kind: "sleep", name, input, ...(isDeadline && { own: true }) });
  if (entered === null) return pending();
  const call = new SleepCall(engine, "sleep", { scope, name, entered, input, isDeadline });
  return call.promise;
}

interface SleepParts extends CallParts {
  readonly input: string;
  readonly isDeadline: boolean;
}

class SleepCall extends KeyedCall<SleepParts, void> {
  protected answer(): void {
    this.outcome.resolve();
  }

  begin(): void {
    if (this.engine.finished) return;
    const { input, isDeadline } = this.parts;
    const recorded = this.record?.until ?? null;
    const until = recorded ?? deadline(input, this.engine.world.now());
    if (recorded === null) {
      this.engine.write({ kind: "sleep.opened", key: this.key, after: this.after, until, input });
    }
    this.engine.timers.wait(this, until, { outside: isDeadline });
    this.whenClosed(() => this.engine.timers.cancel(this));
  }

  due(): void {
    this.engine.write({ kind: "sleep.fired", key: this.key, after: this.after });
  }
}

function deadline(input: string, now: number): number {
  return input.endsWith(" ms") ? Math.min(now + Number.parseFloat(input), endOfTime) : Date.parse(input);
}

function dateText(date: Date): string {
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new DurableError("invalid-options", "ctx.sleep got an invalid Date.");
}
