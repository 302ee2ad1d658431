/**
 * Effects with an unknown outcome: the start of an attempt is recorded, but the driver died before its end was.
 *
 * uncertain.1. The start is durable before the work begins, so that no effect goes unnoticed.
 * uncertain.2. Nothing is repeated before a decision: by rule, by a person, or by a function that asks the service.
 * uncertain.3. A decision is an entry like any other, so replay never asks again.
 */

import type { CallEngine } from "./call.ts";
import { DurableError, describeError, show } from "../../values/errors.ts";
import type { SchemaResult, StandardSchema } from "../../values/schema.ts";
import type { Info } from "./info.ts";
import type { OnUncertain, Resolution, Uncertain } from "../definition.ts";
import type { Scope } from "../scope.ts";
import { suspend } from "./suspend.ts";
import { pause, type World } from "../../ports/world.ts";
import { nextAttemptAt, type RetryPolicy } from "./retry.ts";

export type { OnUncertain, Resolution, Uncertain } from "../definition.ts";

/** Key and signal are made when they are read. */
export function uncertainOf(info: Info, startedAt: number): Uncertain {
  const { key, attempt } = info;
  return {
    key,
    attempt,
    startedAt,
    get idempotencyKey() {
      return info.idempotencyKey;
    },
    get signal() {
      return info.signal;
    },
  };
}

export function checkedMode(mode: OnUncertain | undefined, where: string): OnUncertain | undefined {
  if (mode === undefined || mode === "retry" || mode === "suspend" || typeof mode === "function") return mode;
  throw new DurableError(
    "invalid-options",
    `The ${where} has invalid onUncertain ${show(mode)}. Use "retry", "suspend" or a function.`,
  );
}

/** The code no longer has `onUncertain` for an attempt whose effect may have happened. */
export function undecided(runId: string, key: string): DurableError {
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: step "${key}" began with onUncertain, and its outcome is unknown. Restore onUncertain, or pass { onUncertain: "retry" }; then advance it again.`,
    { details: { key, recorded: { kind: "step" }, asked: { kind: "step" } } },
  );
}

/** Opens a suspend point inside the step: `charge/uncertain`. */
export function openQuestion(
  engine: CallEngine,
  scope: Scope,
  question: {
    readonly uncertain: Uncertain;
    /** How many starts are recorded: each one has its own question. */
    readonly starts: number;
    /** Throws when a value is not a valid output of the step. */
    readonly check: (value: unknown) => Promise<unknown>;
  },
): Promise<Resolution> {
  const { uncertain, starts, check } = question;
  const inner = scope.inner(uncertain.key);
  for (let i = 1; i < starts; i++) inner.count(name);
  const { key: step, attempt, startedAt, idempotencyKey } = uncertain;
  const note = { step, attempt, startedAt, idempotencyKey, question: ask };
  const schema = resolutionSchema(async (value) => {
    const resolution = checkedResolution(value);
    if (resolution.status === "completed") await check(resolution.value);
    return resolution;
  });
  const answer = suspend(engine, { scope: inner, name, own: true }, { note, schema }) as Promise<Resolution>;
  // A question that is answered with an error: the attempt has failed with it.
  return answer.catch((error: unknown) => ({ status: "failed", message: describeError(error) }));
}

const name = "uncertain";
const ask =
  'The driver died after this attempt began. Check whether its effect happened, then answer { status: "completed", value }, { status: "retry" } or { status: "failed", message }.';

function resolutionSchema(check: (value: unknown) => Promise<Resolution>): StandardSchema {
  const validate = async (value: unknown): Promise<SchemaResult<unknown>> => {
    try {
      return { value: await check(value) };
    } catch (error) {
      return { issues: [{ message: error instanceof Error ? error.message : String(error) }] };
    }
  };
  const status = { enum: ["completed", "retry", "failed"] };
  const form = {
    type: "object",
    properties: { status, value: {}, message: { type: "string" } },
    required: ["status"],
  };
  return { "~standard": { version: 1, vendor: "durable", validate, jsonSchema: { input: () => form } } };
}

export function checkedResolution(value: unknown): Resolution {
  const { status, message } = (value ?? {}) as { status?: unknown; message?: unknown };
  const known = status === "completed" || status === "retry";
  if (known || (status === "failed" && typeof message === "string")) return value as Resolution;
  throw new DurableError(
    "invalid-input",
    `${show(value)} is not a valid resolution. Use { status: "completed", value }, { status: "retry" } or { status: "failed", message }.`,
  );
}

/** Calls `find` with the retry policy of the step; after the last attempt the step has failed. */
export async function reconcile(
  find: (uncertain: Uncertain) => Resolution | Promise<Resolution>,
  uncertain: Uncertain,
  { world, policy, where }: { readonly world: World; readonly policy: RetryPolicy; readonly where: string },
): Promise<Resolution> {
  for (let attempt = 1; ; attempt++) {
    try {
      return checkedResolution(await find(uncertain));
    } catch (error) {
      const now = world.now();
      const again = nextAttemptAt(policy, { error, attempt }, { now, random: world.random() });
      if (again === null) {
        const why = error instanceof Error ? error.message : show(error);
        return { status: "failed", message: `Could not determine the outcome of ${where}: ${why}` };
      }
      await pause(world, again - now);
    }
  }
}
