export { serveDashboard } from "./serve.ts";
export type { DashboardServer, ServeOptions } from "./serve.ts";
