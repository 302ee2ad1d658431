/**
 * Loaded first (`node --import example-llm/sources`): packages of this workspace run from their TypeScript
 * sources, and nobody else's do. `--conditions=source` alone would reach every package that knows a condition of
 * that name (eventsource-parser, below the AI SDK, is one), and Node refuses to run TypeScript in node_modules.
 * Under a test runner the same goes for "module", which is meant for bundlers.
 */

import { registerHooks } from "node:module";

const notForOthers: ReadonlySet<string> = new Set(["source", "module"]);
const ours = /^@durable\/|^#default-storage$/;

registerHooks({
  resolve: (specifier, context, next) => {
    const conditions = context.conditions.filter((condition) => !notForOthers.has(condition));
    if (ours.test(specifier)) conditions.unshift("source");
    return next(specifier, { ...context, conditions });
  },
});
