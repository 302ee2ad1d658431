export { crashEverywhere } from "./kit/crash-everywhere.ts";
export type { CrashLife, CrashOptions, CrashSubject } from "./kit/options.ts";
export type { Answer, Answers } from "./kit/answers.ts";
export { CrashError, type CrashReport } from "./kit/report.ts";
export type {
  AmbientReport,
  CrashCase,
  CrashTotals,
  EffectReport,
  OutsideReport,
  RepeatedBody,
} from "./kit/findings.ts";
export type { Problem as CrashProblem } from "./kit/checks.ts";
export { recorder, type Effect, type Recorder } from "./kit/effects.ts";
export { withSteps, type ReplacedSteps } from "./kit/replaced-steps.ts";
export { scriptedModel } from "./kit/scripted-model.ts";
export type { FailedTurn, ModelCall, ModelScript, ModelTurn, ScriptedModel } from "./kit/scripted-model.ts";
export type { SpokenTurn } from "./kit/model-stream.ts";
export type { ModelMessage, ModelPart } from "./kit/model-types.ts";
export type { AmbientName } from "./kit/ambient.ts";
export type { Point as CrashPoint } from "./kit/points.ts";
export { countingBucket, faultyBucket } from "./buckets.ts";
export type { BucketCounts, BucketFault, FaultyBucket, FaultyBucketOptions } from "./buckets.ts";
export { countingStorage } from "./counting-storage.ts";
export type { StorageCounts } from "./counting-storage.ts";
export { faultyStorage } from "./faulty-storage.ts";
export type { Fault, FaultOptions, FaultyStorage, Operation } from "./faulty-storage.ts";
export { replayGolden, type GoldenOptions } from "./golden.ts";
export { recordGolden } from "./golden/journal.ts";
export type { GoldenAncestor, GoldenBatch, GoldenJournal, RecordGoldenOptions } from "./golden/journal.ts";
export type { GoldenVerdict } from "./golden/replay.ts";
export { GoldenError, type GoldenReport, type GoldenResult } from "./golden/report.ts";
export { seeded } from "./random.ts";
export type { Random } from "./random.ts";
export { virtualWorld } from "./virtual-world.ts";
export type { LogLine, VirtualWorld, VirtualWorldOptions } from "./virtual-world.ts";
