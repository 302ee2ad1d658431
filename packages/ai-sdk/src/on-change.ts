/**
 * What happens when a prompt was changed while its run was under way. Calls are named by their content, so a changed call
 * has no record; core notices that the recorded call was not asked for (`byContent`).
 *
 * K1. By default the run is blocked before anything is asked. The message names the first difference. Only a system prompt that
 *     differs although the version of the code is the same, as one with a date does, keeps its answer, as `keep` would.
 * K2. `keep` takes the recorded answer only if one call and one recorded answer of the same kind qualify, and they have
 *     the messages in common, or else system prompt and tools.
 *
 * Proven in test/changes.test.ts.
 */

import { DurableError, type Context } from "@durable/core";
import { isOfEval } from "@durable/core/clients";
import type { ByContent, Unclaimed } from "@durable/core/storage";
import type { Call } from "./call.ts";
import { partsOf, type Part, type PartChunk } from "./chunks.ts";
import { difference, isSameTalk, type Question } from "./question.ts";

/** The field of a recorded answer that holds what was asked. */
export const questionField = "durableQuestion";

/** What is recorded of a question beside its answer: nothing where no change is noticed, as in a journal. */
export function recordedQuestion({ hashed, question }: Call, inWorkflow: boolean): object {
  return hashed && inWorkflow ? { [questionField]: question() } : {};
}

/** A name that is made from content: the kind of the call and a fingerprint. */
const byContentName = /^(\w+) [a-z2-7]{16}$/;

/** For the step or stream of a call; `undefined` when its name does not come from its content. */
export function byContent(ctx: Context, call: Call): ByContent | undefined {
  const { name, options } = call;
  // In an eval, the turns before the cut keep their answers, whatever its code asks.
  const onChange = options.onChange ?? (isOfEval(ctx) ? "keep" : undefined);
  const [, kind] = byContentName.exec(name) ?? [];
  if (kind === undefined || !call.hashed) return undefined;
  // Nothing is a change of it, but it is named by its content all the same.
  if (onChange === "ask") return { isOne: () => false, choose: () => null };
  return {
    isOne: (other) => byContentName.test(other),
    choose: (unclaimed, calls, version) => {
      const same = unclaimed.filter((one) => one.name.startsWith(`${kind} `) && isAlike(one, call));
      const [only] = same;
      const isMoving = onChange === undefined && version === "same" && differsInSystem(only, call);
      if ((onChange === "keep" || isMoving) && same.length === 1 && calls === 1) {
        if (isMoving) ctx.log.warn(movedSystem(ctx, call));
        return only?.key ?? null;
      }
      const qualify = onChange === "keep" ? same.length : null;
      throw changed(ctx, call, only ?? unclaimed[0], { qualify, version });
    },
  };
}

/** True when it is known that the system prompt is all that differs. */
function differsInSystem(old: Unclaimed | undefined, call: Call): boolean {
  const before = old === undefined ? null : questionIn(old.value());
  if (before === null) return false;
  const now = call.question();
  const same = { ...now, ...(before.system === undefined ? {} : { system: before.system }) };
  return (
    before.system !== undefined && now.system !== undefined && difference(before, same, call.params) === null
  );
}

function movedSystem({ runId }: Context, { name }: Call): string {
  return `The system prompt of the model call "${name}" in run ${runId} differs from the recorded one, and the version of the code is the same, so the recorded answer is kept. The likely cause is ${moving}.`;
}

/** What changes a prompt although the code is the same. */
const moving = "a date, a random value, or memory that a tool changed. Use ctx.now() and ctx.random()";

function causeOf(version: "same" | "other" | null): string {
  if (version === "other") return "";
  return version === "same"
    ? ` The version of the code is the same, so the likely cause is ${moving}.`
    : ` If the code is the same, the likely cause is ${moving}.`;
}

function changed(
  ctx: Context,
  call: Call,
  old: Unclaimed | undefined,
  { qualify, version }: { readonly qualify: number | null; readonly version: "same" | "other" | null },
): DurableError {
  const { name } = call;
  const before = old === undefined ? null : questionIn(old.value());
  const named = before === null ? null : difference(before, call.question(), call.params);
  const first = named === null ? "" : ` The first difference is ${named}.`;
  const ways =
    qualify === null
      ? `pass onChange: "keep" to durableModel to take the recorded answer, or onChange: "ask" to ask and pay again`
      : `${qualify === 0 ? "no" : "more than one"} pair of a call and a recorded answer qualifies for onChange: "keep", so pass onChange: "ask" to ask and pay again`;
  return new DurableError(
    "diverged",
    `Run ${ctx.runId} does not fit this code: the model call "${name}" has no record, and the recorded call "${old?.key}" was not asked for.${first}${causeOf(version)} Restore the code; or ${ways}; or fork the run from "${old?.key}". Then advance it again.`,
    { details: { key: old?.key ?? "", asked: name, difference: named } },
  );
}

/** False when it is known that the record answers something else. */
function isAlike(old: Unclaimed, call: Call): boolean {
  const before = questionIn(old.value());
  return before === null || isSameTalk(before, call.question());
}

/** The question that was recorded with an answer; `null` for records of earlier versions, and for failures. */
function questionIn(value: unknown): Question | null {
  const holder = Array.isArray(value) ? headOf(value[0] as PartChunk | undefined) : value;
  return ((holder ?? {}) as { readonly [questionField]?: Question })[questionField] ?? null;
}

function headOf(chunk: PartChunk | undefined): Part | undefined {
  return chunk === undefined ? undefined : partsOf(chunk)[0];
}
