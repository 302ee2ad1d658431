export { PostgresStorage } from "./storage.ts";
export type { PostgresOptions } from "./options.ts";
