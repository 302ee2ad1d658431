/**
 * I12: what is done in the world outside by steps that say what to do when nobody knows how it went.
 *
 * - Every effect was announced, and the announcement was durable, before it happened.
 * - It is announced again only after a failure, when it was called off, or when somebody said so: the rule of
 *   the step, a person, or a function that looked.
 *
 * The name of a generated step begins with its rule.
 */

import type { StepInfo } from "@durable/core";
import type { History } from "./history.ts";
import type { RunLog, WrittenEntry } from "./run-log.ts";

/** An effect is about to happen. */
export function judgeEffect(history: History, run: RunLog | undefined, info: StepInfo, value: unknown): void {
  const { key, idempotencyKey } = info;
  history.effects.push({ run, idempotencyKey, value });
  if (run === undefined || run.tainted) return;
  const done = history.effects.filter(
    (effect) => effect.run === run && effect.idempotencyKey === idempotencyKey,
  ).length;
  const announced = history.entries(run).filter((entry) => entry.key === key && isAnnounced(entry)).length;
  if (done > announced)
    history.violate("I12", `run ${run.runId}: ${key} happens for time ${done}, announced ${announced} times`);
  if (done > 1) history.meet("an effect that happened twice");
}

function isAnnounced({ kind, attempt }: WrittenEntry): boolean {
  return kind === "step.started" && attempt !== 0;
}

/** What the rule of a step is, by the name it has. */
function ruleOf(key: string): string {
  return /(?:^|\/)(retry|suspend|reconcile) pay[^/]*$/.exec(key)?.[1] ?? "";
}

/** At the moment an announcement lands. */
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
  if (!said) history.violate("I12", `run ${run.runId}: ${key} is to be repeated, and nobody said so`);
}

/** What stands between one announcement of a step and the next. */
function gapsOf(entries: readonly WrittenEntry[], key: string): WrittenEntry[][] {
  const at = entries.flatMap((entry, i) => (entry.key === key && isAnnounced(entry) ? [i] : []));
  return at.slice(1).map((end, i) => entries.slice((at[i] ?? 0) + 1, end));
}

/** The attempt before failed, or never began. */
function isExplained(gap: readonly WrittenEntry[], key: string): boolean {
  return gap.some((entry) => entry.key === key && /^(attempt\.failed|step\.started)$/.test(entry.kind));
}

/** What somebody answered about an uncertain attempt of this step. */
function resolutionOf({ kind, key: asked, value }: WrittenEntry, key: string): Resolution | null {
  const isIt = kind === "suspend.resolved" && asked?.startsWith(`${key}/uncertain`) === true;
  return isIt ? (value as Resolution) : null;
}

interface Resolution {
  readonly status: string;
  readonly value?: unknown;
  readonly comparable?: boolean;
}

/** Outcomes of a step that no body gave: what was answered, or found out. */
export function decidedOutcomes(history: History, run: RunLog, key: string): Resolution[] {
  const answered = history.entries(run).flatMap((entry) => resolutionOf(entry, key) ?? []);
  const found = history.decisions.filter((other) => other.run === run && other.key === key);
  return [...answered, ...found].filter(({ status }) => status !== "retry");
}

/** An outcome that somebody decided has landed. */
export function noteDecided(history: History, run: RunLog, { kind, key = "" }: WrittenEntry): void {
  const rule = ruleOf(key);
  if (rule === "" || !/^step\.(completed|failed)$/.test(kind)) return;
  const how = kind.slice("step.".length);
  if (decidedOutcomes(history, run, key).some(({ status }) => status === how))
    history.meet(`an uncertain end: ${rule}, ${how}`);
}
