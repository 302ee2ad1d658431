/**
 * A process that runs a program that acts on words, and writes what it sees, line by line:
 *
 *     node child.ts <journal> <program> <life>
 */

import { writeSync } from "node:fs";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { programs } from "./programs.ts";
import { stageOf } from "./stage.ts";

const [journal = "", name = "", life = "1"] = process.argv.slice(2);
const program = programs[name];
if (program === undefined) throw new Error(`There is no program "${name}".`);

// At once, so that a kill loses no line.
const saw = (seen: object): void => void writeSync(1, `${JSON.stringify(seen)}\n`);

const flow = durable(
  "acting",
  (ctx) => program(ctx, stageOf(ctx, { life: Number(life), paceMs: 10, callMs: 15, saw })),
  { storage: new SqliteStorage(journal) },
);
const outcome = await flow.run(undefined, { id: "r" });
saw({ status: outcome.status, error: "error" in outcome ? String(outcome.error) : null });
process.exit(0);
