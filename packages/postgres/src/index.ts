export { PostgresStorage } from "./storage.ts";
export type { MigrateOptions, Migration, PostgresOptions, PostgresPool } from "./options.ts";
