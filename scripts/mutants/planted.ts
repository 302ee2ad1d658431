/** Every planted bug, by name, and what must have one. */
import { plantedBetweenChapters } from "./planted-chapters.ts";
import { plantedInApps } from "./planted-apps.ts";
import { plantedInChanges } from "./planted-changes.ts";
import { plantedInBudgets } from "./planted-budgets.ts";
import { plantedInCalls } from "./planted-calls.ts";
import { plantedInCopies } from "./planted-copy.ts";
import { plantedInEnds } from "./planted-ends.ts";
import { plantedInEvals } from "./planted-evals.ts";
import { plantedInBuckets } from "./planted-remote.ts";
import { plantedInMessages } from "./planted-messages.ts";
import { plantedInFinding } from "./planted-find.ts";
import { plantedInJournals } from "./planted-journal.ts";
import { plantedInPurges } from "./planted-keep.ts";
import { plantedInLimits } from "./planted-limits.ts";
import { plantedInLaws } from "./planted-laws.ts";
import { plantedInTelemetry } from "./planted-otel.ts";
import { plantedInRareCases } from "./planted-rare.ts";
import { plantedInRuns } from "./planted-runs.ts";
import { plantedInSteering } from "./planted-steer.ts";
import { plantedInSchedules } from "./planted-schedules.ts";
import { plantedInTheLoop } from "./planted-engine.ts";
import type { PlantedBug } from "./patch.ts";

export const planted: readonly PlantedBug[] = [
  ...plantedInLaws,
  ...plantedInJournals,
  ...plantedInTheLoop,
  ...plantedInCalls,
  ...plantedInChanges,
  ...plantedInRuns,
  ...plantedBetweenChapters,
  ...plantedInBuckets,
  ...plantedInCopies,
  ...plantedInEnds,
  ...plantedInEvals,
  ...plantedInMessages,
  ...plantedInPurges,
  ...plantedInTelemetry,
  ...plantedInRareCases,
  ...plantedInLimits,
  ...plantedInBudgets,
  ...plantedInFinding,
  ...plantedInSteering,
  ...plantedInSchedules,
  ...plantedInApps,
];
