/** The tree of forks: a rail for each run, which leaves its parent after the last call they share. */

import type { JSX } from "preact";
import type { Tree, TreeNode } from "../../src/api.ts";
import { getTree } from "../lib/api.ts";
import { cost, count, shortId, statusName } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { diffPath, go, hrefOf, runPath } from "../lib/router.ts";
import { Empty, Link, Problem, Status } from "./basic.tsx";

const stepWidth = 74;
const lineHeight = 54;
const left = 38;
/** Wide enough for a letter of a label, which a picture cannot measure. */
const letter = 7.5;

export function ForkTree({ runId, version }: { runId: string; version: number }): JSX.Element {
  const { data, reload } = useLoad(`${runId} ${version}`, () => getTree(runId));
  const { value, error } = data.value;
  if (error !== null && value === null) return <Problem text={error} onRetry={() => void reload()} />;
  if (value === null) return <p class="pane soft">Reading the forks…</p>;
  if (value.nodes.length === 1)
    return (
      <Empty title="This run has no forks yet.">
        Choose a call in the timeline, then <b>Fork from here</b>. The fork reuses what is recorded before it.
      </Empty>
    );
  const lines = inOrder(value.nodes);
  return (
    <div class="forks">
      <Rails lines={lines} runId={runId} />
      <ul class="fork-list">
        {lines.map((node) => (
          <ForkLine key={node.runId} node={node} runId={runId} />
        ))}
      </ul>
      {value.more && <p class="pane soft">There are more forks than are shown here.</p>}
    </div>
  );
}

/** Each run directly before its forks. */
function inOrder(nodes: Tree["nodes"]): TreeNode[] {
  const below = (parent: string): TreeNode[] =>
    nodes.filter((node) => node.parent === parent).flatMap((node) => [node, ...below(node.runId)]);
  const [root] = nodes;
  return root === undefined ? [] : [root, ...below(root.runId)];
}

/** How many calls from the beginning a fork shares with its parent. */
function sharedSteps(node: TreeNode): number {
  if (!node.isFork) return 0;
  const first = node.steps.findIndex(({ mark, edited }) => mark !== "h" || edited === true);
  return first === -1 ? node.steps.length : first;
}

function Rails({ lines, runId }: { lines: readonly TreeNode[]; runId: string }): JSX.Element {
  const width = Math.max(...lines.map((node) => endOf(node) + 40 + longestOf(wordsOf(node)) * letter));
  const y = (index: number): number => 26 + index * lineHeight;
  const rowOf = new Map(lines.map((node, i) => [node.runId, i]));
  return (
    <div class="tree" tabIndex={0} role="group" aria-label={`Tree of forks, ${lines.length} runs`}>
      <svg width={width} height={lines.length * lineHeight + 10}>
        {lines.map((node, i) => (
          <Rail
            key={node.runId}
            node={node}
            y={y(i)}
            parentY={y(rowOf.get(node.parent ?? "") ?? i)}
            isHere={node.runId === runId}
          />
        ))}
      </svg>
    </div>
  );
}

const xOf = (index: number): number => left + index * stepWidth;
const startX = left - 14;

/** Where the line of a run has its last call. */
function endOf({ steps }: TreeNode): number {
  return steps.length === 0 ? startX + 40 : xOf(steps.length - 1);
}

/** What stands at the end of a line: the run, and below it what it came to. */
function wordsOf({ runId, label, status, cost: paid, tokens }: TreeNode): readonly [string, string] {
  const used = cost(paid) || (tokens > 0 ? `${count(tokens)} tokens` : "");
  return [shortId(runId), [label, statusName(status).toLowerCase(), used].filter(Boolean).join(", ")];
}

const longestOf = (words: readonly string[]): number => Math.max(...words.map(({ length }) => length));

/**
 * A run and all its calls. What a fork took from the journal is pale, and the last of that hangs on the same call of the parent, so
 * that no branch begins in mid-air.
 */
function Rail(props: { node: TreeNode; y: number; parentY: number; isHere: boolean }): JSX.Element {
  const { node, y, parentY, isHere } = props;
  const shared = sharedSteps(node);
  const turn = shared === 0 ? startX : xOf(shared - 1);
  const end = endOf(node);
  const [id, about] = wordsOf(node);
  return (
    <g>
      {shared > 0 && <path d={`M${startX} ${y}H${turn}`} class="rail pale" />}
      {parentY !== y && (
        <path
          d={`M${turn} ${parentY}C${turn - 22} ${parentY + 12} ${turn - 22} ${y - 12} ${turn} ${y}`}
          class="rail"
        />
      )}
      <path d={`M${turn} ${y}H${end + 20}`} class="rail" />
      {node.steps.map(({ key, name, mark, edited }, i) => (
        <g key={key}>
          <title>{edited === true ? `${key}, edited` : key}</title>
          <circle cx={xOf(i)} cy={y} r={i < shared ? 5 : 7} class={`node ${edited === true ? "e" : mark}`} />
          {(i >= shared || parentY === y) && (
            <text x={xOf(i)} y={y + 22} class="s" text-anchor="middle">
              {edited === true && "✎ "}
              {name.length > 11 ? `${name.slice(0, 10)}…` : name}
            </text>
          )}
        </g>
      ))}
      <a
        href={hrefOf(runPath(node.runId))}
        class={isHere ? "here" : ""}
        onClick={(event) => {
          event.preventDefault();
          go(runPath(node.runId));
        }}
      >
        <text x={end + 30} y={y - 3}>
          {id}
        </text>
        <text x={end + 30} y={y + 12} class="s">
          {about}
        </text>
      </a>
    </g>
  );
}

function ForkLine({ node, runId }: { node: TreeNode; runId: string }): JSX.Element {
  const isHere = node.runId === runId;
  const where = [
    node.at.length > 0 ? `from ${node.at.join(", ")}` : "",
    node.edited.length > 0 ? `${node.edited.join(", ")} edited` : "",
  ].filter((part) => part !== "");
  return (
    <li class={isHere ? "sel" : ""}>
      <Status status={node.status} />
      <Link to={runPath(node.runId)} class="link">
        {shortId(node.runId)}
      </Link>
      {node.label !== null && <span class="tag">{node.label}</span>}
      <span class="faint">
        {where.join("; ") || (node.isFork ? "" : node.parent === null ? "the first run" : "child")}
      </span>
      <span class="sp" />
      {!isHere && (
        <Link to={diffPath(runId, node.runId)} class="btn" label={`Compare with ${node.runId}`}>
          Compare
        </Link>
      )}
    </li>
  );
}
