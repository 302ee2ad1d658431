/** The port of storages and ciphers, and what packages that implement or extend them need. */

import * as platform from "#default-storage";

export { expectApp } from "./app.ts";
export {
  forkForEval,
  runEval,
  evalId,
  codeFor,
  originalOf,
  type EvalOriginal,
  type EvalForkEnd,
  type EvalForkOf,
  type EvalRunOf,
} from "./runs/eval-forks.ts";
export { ArchiveStorage, plainRun, type ArchivedRun } from "./copy/archive.ts";
export type { EvalVariant, Stub } from "./engine/evals.ts";
export type { ByContent, Unclaimed } from "./engine/definition.ts";
export { nextAttemptAt, retryPolicy, type RetryPolicy } from "./engine/calls/retry.ts";
export { permitIn, type Rests } from "./engine/calls/info.ts";
export type { Estimate, Permit } from "./engine/definition.ts";
export type { Ancestor, ChildOf, Cut, Edit, Fact, FactKind, SpawnedBy } from "./journal/entry.ts";
export type { ScheduleStore, StoredSchedule, StoredScheduleQuery } from "./ports/schedules.ts";
export type {
  AppendRequest,
  BlockedNote,
  ClaimRequest,
  DuringQuery,
  Lease,
  NamedBlob,
  ReadReply,
  RunDuring,
  RunFlow,
  RunTally,
  SlotLimits,
  SlotUse,
  StorageLimits,
  WorkflowPause,
} from "./ports/storage.ts";
export type { Chain, Cipher, Place, Spot } from "./ports/cipher.ts";
export { systemWorld } from "./ports/world.ts";
export { toMs } from "./values/duration.ts";
export { spentOf, sumSpent, type SpentRow } from "./values/usage.ts";
export { otherFormat } from "./values/errors.ts";
export { assertOptions } from "./values/options.ts";
export { isWeak } from "./values/secret.ts";
export type { Asking, KeepsPrompt, MakePrompt, PromptRecord, PromptSettings } from "./journal/prompt.ts";
export { fingerprint } from "./values/codec/fingerprint.ts";
export {
  pageSize,
  beyondEnd,
  workflowsOf,
  parentsOf,
  versionsOf,
  tagsOf,
  isFound,
  mostMatches,
  searched,
  type SearchedList,
  type SearchedRow,
  afterPrefix,
  inTurns,
  scheduleListing,
  damagedHead,
  noted,
  keepReport,
  dueOrder,
  dueSinceOf,
  marksText,
  readMarks,
  waitsUntil,
  duringOf,
  endStatuses,
  hasEnded,
  endedBefore,
  isUnchanged,
  readsFrom,
  readCursor,
  conflict,
  singletonConflict,
  droppedConflict,
  stillRead,
  noChapter,
  refuseBlobs,
  FairTurns,
} from "./ports/storage-kit.ts";

/** Identifies this process on its host: boot, process namespace, process id and start time. Empty where there are none. */
export const thisProcess: string = platform.thisProcess;

/** True when the process that recorded this is certainly dead: it ran on this host, and is gone. */
export function isDead(recorded: string): boolean {
  return platform.isDead(recorded);
}
