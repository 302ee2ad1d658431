export { durableModel } from "./model.ts";
export { durableMiddleware, type DurableMiddleware } from "./middleware.ts";
export { durableProvider } from "./provider.ts";
export {
  durableDownload,
  type Download,
  type Downloaded,
  type DownloadOptions,
  type DurableDownload,
} from "./download.ts";
export { durableMCPTools, MCPToolError, type MCPClient, type MCPTools, type MCPToolsOptions } from "./mcp.ts";
export type { ModelId, ModelOptions } from "./call.ts";
export { partsOf, type Part, type PartChunk } from "./chunks.ts";
export {
  durableCall,
  durableTools,
  type DurableCall,
  type InputOf,
  type ToolOptions,
  type ToolsOptions,
} from "./tools.ts";
export { durableApproval, durableIds } from "./approval.ts";
export type { Approval, ApprovalOptions, ApprovalRequest } from "@durable/core/clients";
export { durableSteering, type DurableSteering, type Steering, type SteeringMessage } from "./steering.ts";
export { turnsOf, type TurnView } from "./turns.ts";
export {
  usageOf,
  usageOfFamily,
  type CallSpend,
  type FamilyUsageOptions,
  type ManyUsage,
  type RunUsage,
  type StepUsage,
  type UsageOptions,
} from "./usage.ts";
