/**
 * I12: effects on the outside world, made by steps with an `onUncertain` rule.
 *
 * - Every effect was announced, and the announcement was durable, before the effect happened.
 * - A step is announced again only after a failure, after a cancelled start, or after a decision: by its
 *   rule, by an answer, or by a function.
 *
 * The name of a generated step begins with its rule.
 *
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { StepInfo } from "@durable/core";
import type { History } from "./history.ts";
import type { RunLog, WrittenEntry } from "./run-log.ts";

/** Runs just before an effect happens. */
export function judgeEffect(history: History, info: StepInfo, value: unknown): void {
  const { key, idempotencyKey } = info;
  const run = history.bodies.findLast((body) => body.idempotencyKey === idempotencyKey)?.run;
  history.effects.push({ run, idempotencyKey, value });
  if (run === undefined || run.tainted) return;
  const done = history.effects.filter(
    (effect) => effect.run === run && effect.idempotencyKey === idempotencyKey,
  ).length;
  const announced = history.entries(run).filter((entry) => entry.key === key && isAnnounced(entry)).length;
  if (done > announced)
    history.violate(
      "I12",
      `run ${run.runId}: ${key} happened ${done} times and was announced ${announced} times`,
    );
  if (done > 1) history.meet("an effect that happened twice");
}

function isAnnounced({ kind, attempt }: WrittenEntry): boolean {
  return kind === "step.started" && attempt !== 0;
}

/** The rule of a step, from its name. */
function ruleOf(key: string): string {
  return /(?:^|\/)(retry|suspend|reconcile) pay[^/]*$/.exec(key)?.[1] ?? "";
}

/** Runs when an announcement is applied. */
export function judgeAnnounced(history: History, run: RunLog, entry: WrittenEntry): void {
  const { key = "", attempt } = entry;
  if (attempt === 0) return history.meet("a start that was called off");
  const rule = ruleOf(key);
  const before = history.entries(run).filter((other) => other.key?.startsWith(key));
  const gaps = gapsOf(before.slice(0, before.indexOf(entry) + 1), key);
  const gap = gaps.at(-1);
  if (rule === "" || gap === undefined || isExplained(gap, key)) return;
  history.meet(`an uncertain end: ${rule}, retry`);
  if (rule === "retry") return;
  const found = history.decisions.filter(
    (other) => other.run === run && other.key === key && other.status === "retry",
  );
  const said =
    rule === "suspend"
      ? gap.some((other) => resolutionOf(other, key)?.status === "retry")
      : found.length >= gaps.filter((other) => !isExplained(other, key)).length;
  if (!said) history.violate("I12", `run ${run.runId}: ${key} is repeated without a decision`);
}

/** The entries between one announcement of a step and the next. */
function gapsOf(entries: readonly WrittenEntry[], key: string): WrittenEntry[][] {
  const at = entries.flatMap((entry, i) => (entry.key === key && isAnnounced(entry) ? [i] : []));
  return at.slice(1).map((end, i) => entries.slice((at[i] ?? 0) + 1, end));
}

/** True when the previous attempt failed or never began. */
function isExplained(gap: readonly WrittenEntry[], key: string): boolean {
  return gap.some((entry) => entry.key === key && /^(attempt\.failed|step\.started)$/.test(entry.kind));
}

/** The answer about an uncertain attempt of this step, if this entry is one. */
function resolutionOf({ kind, key: asked, value }: WrittenEntry, key: string): Resolution | null {
  const isIt = kind === "suspend.resolved" && asked?.startsWith(`${key}/uncertain`) === true;
  return isIt ? (value as Resolution) : null;
}

interface Resolution {
  readonly status: string;
  readonly value?: unknown;
  readonly comparable?: boolean;
}

/** Outcomes of a step that came from an answer or a function, not from its body. */
export function decidedOutcomes(history: History, run: RunLog, key: string): Resolution[] {
  const answered = history.entries(run).flatMap((entry) => resolutionOf(entry, key) ?? []);
  const found = history.decisions.filter((other) => other.run === run && other.key === key);
  return [...answered, ...found].filter(({ status }) => status !== "retry");
}

/** Notes an outcome that came from an answer or a function. */
export function noteDecided(history: History, run: RunLog, { kind, key = "" }: WrittenEntry): void {
  const rule = ruleOf(key);
  if (rule === "" || !/^step\.(completed|failed)$/.test(kind)) return;
  const how = kind.slice("step.".length);
  if (decidedOutcomes(history, run, key).some(({ status }) => status === how))
    history.meet(`an uncertain end: ${rule}, ${how}`);
}
