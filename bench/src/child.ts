/**
 * One measurement of one subject, in a process of its own: no subject sees the heap, the compiled code or the globals of
 * another. The task comes as JSON in the first argument; the result goes to standard output as one line.
 */

import type { SubjectModule } from "./engine.ts";
import { measure, type Task } from "./measure.ts";

/** Marks the line of the result among what a peer prints. */
const mark = "@@durable-bench ";

const task = JSON.parse(process.argv[2] ?? "{}") as Task;
const subject = (await import(new URL(`subjects/${task.module}.js`, import.meta.url).href)) as SubjectModule;
// Some engines wait on sockets that do not keep a process alive.
setInterval(() => {}, 60_000);
const result = await measure(subject, task);
process.stdout.write(`\n${mark}${JSON.stringify(result)}\n`, () => process.exit(0));
