export { createDashboard } from "./dashboard.ts";
export type { Dashboard } from "./dashboard.ts";
export type { Action, ActionType, Authorize, DashboardOptions } from "./options.ts";
export { exportRun } from "./export/export-run.ts";
export type { ExportOptions } from "./export/export-run.ts";
