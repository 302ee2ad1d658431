/** What a call used, told to the step that records it. */

import type { StepInfo } from "@durable/core";
import type { ModelId } from "./call.ts";

export function meter(_info: StepInfo, _model: ModelId, _result: object): void {}
