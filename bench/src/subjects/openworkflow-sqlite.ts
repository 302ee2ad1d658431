import { join } from "node:path";
import { load, type SubjectModule } from "../engine.ts";
import { openworkflow } from "./openworkflow.ts";

type Module = { BackendSqlite: { connect(path: string): { stop(): Promise<void> } } };

export const open: SubjectModule["open"] = async ({ folder }, marks) => {
  const { BackendSqlite } = await load<Module>("openworkflow/sqlite");
  return openworkflow(BackendSqlite.connect(join(folder, "openworkflow.db")), marks);
};
