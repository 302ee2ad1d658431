export { PostgresStorage } from "./storage.ts";
export type { PostgresOptions, PostgresPool } from "./options.ts";
