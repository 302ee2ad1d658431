export { durableModel, durableProvider } from "./model.ts";
export type { ModelOptions } from "./options.ts";
export { durableTools, type ToolOptions, type ToolsOptions } from "./tools.ts";
export { durableApprovals, type Answerable, type Interrupted } from "./approvals.ts";
