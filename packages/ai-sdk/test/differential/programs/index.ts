/** All programs of the differential suite. */

import type { Area } from "../program.ts";
import { aborts } from "./aborts.ts";
import { agents } from "./agents.ts";
import { approvals } from "./approvals.ts";
import { empty } from "./empty.ts";
import { errors } from "./errors.ts";
import { generate } from "./generate.ts";
import { media } from "./media.ts";
import { objects } from "./objects.ts";
import { stream } from "./stream.ts";
import { timeouts } from "./timeouts.ts";
import { tools } from "./tools.ts";

export const areas: readonly Area[] = [
  { area: "generate", programs: generate },
  { area: "stream", programs: stream },
  { area: "objects", programs: objects },
  { area: "agents", programs: agents },
  { area: "tools", programs: tools },
  { area: "approvals", programs: approvals },
  { area: "media", programs: media },
  { area: "aborts", programs: aborts },
  { area: "time-outs", programs: timeouts },
  { area: "errors", programs: errors },
  { area: "empty answers", programs: empty },
];
