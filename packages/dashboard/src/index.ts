export { createDashboard } from "./dashboard.ts";
export type { Dashboard } from "./dashboard.ts";
export type { DashboardOptions } from "./options.ts";
export type { Action, Authorize } from "@durable/core";
export type { ActionType } from "@durable/core/types";
export { exportRun } from "./export/export-run.ts";
export type { ExportOptions } from "./export/export-run.ts";
export { redact } from "./export/redact.ts";
