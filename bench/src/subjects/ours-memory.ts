import { MemoryStorage } from "@durable/core";
import type { SubjectModule } from "../engine.ts";
import { ours } from "./ours.ts";

export const open: SubjectModule["open"] = async (_place, marks) => ours(new MemoryStorage(), marks);
