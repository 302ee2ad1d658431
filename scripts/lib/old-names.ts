/** Names that were replaced before the first release, and where the old ones must not occur any more. */
import { renamedOptions } from "../../packages/core/src/values/renamed.ts";

/** A name that users called. Options stand in `renamedOptions`, by which the library refuses them. */
export interface OldName {
  readonly old: string;
  readonly now: string;
  /** What a text with the old name looks like. */
  readonly sign: RegExp;
}

export const oldNames: readonly OldName[] = [
  {
    old: "app.deliver(token, value)",
    now: "app.resume(token, value, { drive: false })",
    sign: /\bapp\.deliver\b|`deliver`|--deliver\b/,
  },
  { old: "run.created", now: "run.repeated", sign: /\brun\.created\b/ },
  {
    old: "app.schedules.resume(name)",
    now: "app.schedules.unpause(name)",
    sign: /schedules\.resume\(|schedules\/\{?\w+\}?\/resume/,
  },
  {
    old: "run.cancel(reason)",
    now: "run.cancel({ reason })",
    sign: /\b(?:run|app|flow)\.cancel\((?:\w+, )?reason/,
  },
  { old: "run.pause(reason)", now: "run.pause({ reason })", sign: /\b(?:run|app)\.pause\((?:\w+, )?reason/ },
  { old: "LimitOptions, StepLimit", now: "QuotaOptions, StepQuota", sign: /\b(?:LimitOptions|StepLimit)\b/ },
  { old: "createApp({ limits })", now: "createApp({ quotas })", sign: /createApp\(\{[^\n]*\blimits\b/ },
  { old: "concurrency: { limit }", now: "concurrency: { max }", sign: /concurrency: \{ ?limit\b/ },
  { old: "rate: { limit }", now: "rate: { max }", sign: /\brate: \{ ?limit\b[^\n]*\bper\b/ },
  ...Object.entries(renamedOptions)
    .filter(([old]) => old.endsWith("Ms"))
    .map(([old, now]) => ({ old, now, sign: new RegExp(`readonly ${old}\\?: number \\| undefined`) })),
];
