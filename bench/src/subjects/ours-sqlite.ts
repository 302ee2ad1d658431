import { join } from "node:path";
import { SqliteStorage } from "@durable/core/sqlite";
import type { SubjectModule } from "../engine.ts";
import { ours } from "./ours.ts";

export const open: SubjectModule["open"] = async ({ folder }, marks) =>
  ours(new SqliteStorage(join(folder, "journal.db")), marks);
