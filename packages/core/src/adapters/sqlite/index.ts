export { SqliteStorage } from "./storage.ts";
export type { SqliteOptions } from "./storage.ts";
