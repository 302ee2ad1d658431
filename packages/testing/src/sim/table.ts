/** A simulation's history as a table that is made to be read. */

import { startOfTime } from "./actors.ts";
import type { Violation } from "./history.ts";
import { invariants } from "./invariants.ts";
import type { Simulation } from "./simulate.ts";
import type { Tree } from "./tree.ts";

/** Requests that went well and changed nothing say little. */
const quiet = new Set(["list", "read", "lease", "release", "append"]);

/** What happened, one line an event; of a long history, its beginning and its end. */
export function eventTable({ trace }: Simulation, most = 300): string {
  // When faults end everybody begins anew, and at the end everybody ends: that is so in every history.
  const healed = trace.findIndex(({ what }) => what === "faults end");
  const told = trace.filter(
    ({ what }, i) =>
      !quiet.has(what) && !(healed !== -1 && i > healed && /^(dies: restarted|is asked to end)$/.test(what)),
  );
  const who = Math.max(4, ...told.map((line) => line.who.length));
  const lines = told.map(
    (line) => `${seconds(line.at - startOfTime).padStart(11)}  ${line.who.padEnd(who)}  ${line.what}`,
  );
  const third = Math.floor(most / 3);
  const left = lines.length - most;
  const cut = left > 0 ? [...lines.slice(0, third), `${" ".repeat(13)}... ${left} more`] : lines;
  return (left > 0 ? [...cut, ...lines.slice(third - most)] : cut).join("\n");
}

/** Violations with what they mean. */
export function describeViolations(violations: readonly Violation[], most = 3): string {
  return violations
    .slice(0, most)
    .map(({ invariant, message }) => `  ${invariant} (${invariants[invariant] ?? ""})\n      ${message}`)
    .join("\n");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}

/** A workflow as code would say it. */
export function describeTree(tree: Tree, indent = ""): string {
  const inner = (nodes: readonly Tree[]): string =>
    nodes.map((node) => describeTree(node, `${indent}  `)).join("\n");
  switch (tree.kind) {
    case "step": {
      const fails =
        tree.fails === 0 ? "" : tree.fails === 9 ? ", never works" : `, fails ${tree.fails} times`;
      const limit = tree.timeoutMs === null ? "" : `, at most ${tree.timeoutMs} ms`;
      return `${indent}step "${tree.name}" ${tree.ms} ms${fails}${limit}`;
    }
    case "sleep":
      return `${indent}sleep ${tree.ms} ms`;
    case "suspend": {
      const how = [
        tree.mailed ? "token mailed first" : "",
        tree.checked ? "with a schema" : "",
        tree.timeoutMs === null
          ? ""
          : `at most ${tree.timeoutMs} ms${tree.fallback ? ", with a fallback" : ""}`,
      ].filter((text) => text !== "");
      return `${indent}suspend "${tree.name}"${how.length === 0 ? "" : ` (${how.join(", ")})`}`;
    }
    case "killer":
      return `${indent}step "${tree.name}" that kills its process`;
    case "fork":
      return `${indent}fork of itself`;
    case "loop":
      return `${indent}loop ${tree.times} times\n${inner([tree.node])}`;
    case "attempt":
      return `${indent}try\n${inner([tree.node])}`;
    case "sequence":
      return `${indent}in sequence\n${inner(tree.nodes)}`;
    default: {
      const how = tree.plain ? (tree.kind === "race" ? "Promise.race" : "Promise.all") : `ctx.${tree.kind}`;
      return `${indent}${how}\n${inner(tree.nodes)}`;
    }
  }
}
