/**
 * A simulation's history as text: a table of events, its violations, and the trees of its workflows. Proven
 * in test/shrink.test.ts.
 */

import type { Violation } from "./history.ts";
import { invariants } from "./invariants.ts";
import type { Simulation } from "./simulate.ts";
import { startOfTime } from "./cluster.ts";
import { childrenOf, type Tree } from "./tree.ts";

/** Requests that succeeded and changed nothing. */
const quiet = new Set(["list", "read", "lease", "release", "append", "claim"]);

/** The events of a simulation as text, one line per event; of a long history, the beginning and the end. */
export function eventTable({ trace }: Simulation, most = 300): string {
  // Every history restarts all processes when faults end, and terminates them at its end.
  const healed = trace.findIndex(({ what }) => what === "faults end");
  const shown = trace.filter(
    ({ what }, i) =>
      !quiet.has(what) && !(healed !== -1 && i > healed && /^(dies: restarted|is asked to end)$/.test(what)),
  );
  const who = Math.max(4, ...shown.map((line) => line.who.length));
  const lines = shown.map(
    (line) => `${seconds(line.at - startOfTime).padStart(11)}  ${line.who.padEnd(who)}  ${line.what}`,
  );
  const third = Math.floor(most / 3);
  const left = lines.length - most;
  const cut = left > 0 ? [...lines.slice(0, third), `${" ".repeat(13)}... ${left} more`] : lines;
  return (left > 0 ? [...cut, ...lines.slice(third - most)] : cut).join("\n");
}

/** Broken invariants as text, with what each invariant says. */
export function describeViolations(violations: readonly Violation[], most = 3): string {
  return violations
    .slice(0, most)
    .map(({ invariant, message }) => `  ${invariant} (${invariants[invariant] ?? ""})\n      ${message}`)
    .join("\n");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}

/** Prints a generated workflow as code. */
export function describeTree(tree: Tree, indent = ""): string {
  const inner = childrenOf(tree).map((node) => describeTree(node, `${indent}  `));
  return [`${indent}${describeNode(tree)}`, ...inner].join("\n");
}

function describeNode(tree: Tree): string {
  switch (tree.kind) {
    case "step":
      return `step "${tree.name}" ${tree.ms} ms${listed(stepDetails(tree))}`;
    case "stream":
      return `stream "${tree.name}" of ${tree.chunks} chunks, ${tree.ms} ms each${listed(streamDetails(tree))}`;
    case "sleep":
      return `sleep ${tree.ms} ms`;
    case "foreign":
      return `await of a timer, ${tree.ms} ms, then step "${tree.name}"`;
    case "stray":
      return `steps "${tree.name}" around a promise that rejects and is not awaited`;
    case "suspend": {
      const fallback = tree.fallback ? ", with a fallback" : "";
      const how = [
        tree.was === undefined ? "" : `was "${tree.was}"`,
        tree.mailed ? "token mailed first" : "",
        tree.checked ? "with a schema" : "",
        tree.timeoutMs === null ? "" : `at most ${tree.timeoutMs} ms${fallback}`,
      ].filter((text) => text !== "");
      return `suspend "${tree.name}"${how.length === 0 ? "" : ` (${how.join(", ")})`}`;
    }
    case "receive": {
      const fallback = tree.fallback ? ", with a fallback" : "";
      const timeout = tree.timeoutMs === null ? "" : ` at most ${tree.timeoutMs} ms${fallback}`;
      return `receive "${tree.name}"${timeout}${tree.checked ? ", with a schema" : ""}`;
    }
    case "report":
      return `report of ${tree.size} numbers`;
    case "killer":
      return `step "${tree.name}" that kills its process`;
    case "cleanup":
      return `ctx.onCancel "${tree.name}", ${tree.ms} ms${tree.sleepMs === undefined ? "" : `, sleeps ${tree.sleepMs} ms`}${tree.timeoutMs === undefined ? "" : `, at most ${tree.timeoutMs} ms`}`;
    case "fork":
      return "fork of itself";
    case "loop":
      return `loop ${tree.times} times`;
    case "attempt":
      return "try";
    case "sequence":
      return "in sequence";
    case "chapters":
      return `ctx.continueAs after each${tree.leavesMs === undefined ? "" : `, with work of ${tree.leavesMs} ms left open`}`;
    case "child":
      return `ctx.child "${tree.name}"`;
    case "spawn":
      return `ctx.spawn "${tree.name}"${tree.ends ? ", ends with its parent" : ""}`;
    case "tag":
      return `ctx.tag ${tree.name}=${tree.value}`;
    case "map":
      return `ctx.map of ${tree.items} items${tree.keyed ? " with keys" : ""}`;
    default:
      return tree.plain ? (tree.kind === "race" ? "Promise.race" : "Promise.all") : `ctx.${tree.kind}`;
  }
}

function stepDetails(tree: Tree & { kind: "step" }): string[] {
  return [
    failures(tree),
    tree.timeoutMs === null ? "" : `at most ${tree.timeoutMs} ms`,
    tree.large === undefined ? "" : `returns much (${tree.large})`,
    tree.declares === true ? "declares the input" : "",
    tree.onUncertain === undefined ? "" : `onUncertain ${tree.onUncertain}`,
    tree.compensate === undefined
      ? ""
      : `is undone in ${tree.compensate.ms} ms${listed([failures(tree.compensate)])}`,
  ];
}

function streamDetails(tree: Tree & { kind: "stream" }): string[] {
  return [
    failures(tree),
    tree.timeoutMs === undefined ? "" : `at most ${tree.timeoutMs} ms`,
    tree.stalls === true ? "stalls where it fails" : "",
  ];
}

function failures({ fails }: { readonly fails: number }): string {
  return fails === 0 ? "" : fails === 9 ? "never works" : `fails ${fails} times`;
}

function listed(details: readonly string[]): string {
  return details
    .filter((text) => text !== "")
    .map((text) => `, ${text}`)
    .join("");
}
