export { SqliteStorage } from "./storage.ts";
export type { SqliteOptions } from "./storage.ts";
export type { Backup, BackupOptions } from "./backup.ts";
export type { Compacted, CompactOptions } from "./space.ts";
