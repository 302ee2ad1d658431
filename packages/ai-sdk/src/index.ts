export { durableModel } from "./model.ts";
export { durableMiddleware, type DurableMiddleware } from "./middleware.ts";
export type { ModelId, ModelOptions } from "./call.ts";
export { partsOf, type Part, type PartChunk } from "./chunks.ts";
export { durableCall, durableTools, type DurableCall, type ToolOptions } from "./tools.ts";
export { durableApproval, durableIds, type Approval, type ApprovalOptions } from "./approval.ts";
export { usageOf, type RunUsage, type StepUsage, type UsageOptions } from "./usage.ts";
