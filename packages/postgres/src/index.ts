export { PostgresStorage } from "./storage.ts";
export type { MigrateOptions, PostgresOptions, PostgresPool } from "./options.ts";
