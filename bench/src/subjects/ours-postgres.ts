import { PostgresStorage } from "@durable/postgres";
import type { SubjectModule } from "../engine.ts";
import { ours } from "./ours.ts";

export const open: SubjectModule["open"] = async ({ postgres }, marks) =>
  ours(new PostgresStorage({ url: postgres }), marks);
