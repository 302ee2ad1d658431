export { createDashboard } from "./dashboard.ts";
export type { Dashboard } from "./dashboard.ts";
export type { DashboardOptions } from "./options.ts";
export type { Action, ActionType, Authorize } from "@durable/core";
export { exportRun } from "./export/export-run.ts";
export type { ExportOptions } from "./export/export-run.ts";
