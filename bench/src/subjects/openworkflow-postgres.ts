import { load, type SubjectModule } from "../engine.ts";
import { openworkflow } from "./openworkflow.ts";

type Module = { BackendPostgres: { connect(url: string): Promise<{ stop(): Promise<void> }> } };

export const open: SubjectModule["open"] = async ({ postgres }, marks) => {
  const { BackendPostgres } = await load<Module>("openworkflow/postgres");
  return openworkflow(await BackendPostgres.connect(postgres), marks);
};
