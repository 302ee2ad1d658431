/** A simulation's history as a table that is made to be read. */

import { startOfTime } from "./actors.ts";
import type { Simulation } from "./simulate.ts";
import type { Tree } from "./tree.ts";

/** What happened, one line an event; polls that found nothing are left out. */
export function eventTable({ trace }: Simulation): string {
  const lines = trace.filter(({ what }) => what !== "list");
  const who = Math.max(4, ...lines.map((line) => line.who.length));
  return lines
    .map((line) => `${seconds(line.at - startOfTime).padStart(11)}  ${line.who.padEnd(who)}  ${line.what}`)
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
