export { serveDashboard } from "./serve.ts";
export type { DashboardServer, ServeDashboardOptions } from "./serve.ts";
