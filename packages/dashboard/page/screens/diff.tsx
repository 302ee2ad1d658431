/** Two runs side by side, call by call. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { DiffCall, DiffPage } from "../../src/api.ts";
import { getDiff } from "../lib/api.ts";
import { useLoad } from "../lib/hooks.ts";
import { diffPath, queryOf, setQuery } from "../lib/router.ts";
import { wordDiff } from "../lib/words.ts";
import { Link, Problem, RunLink } from "../parts/basic.tsx";
import { Pieces } from "../parts/pieces.tsx";
import { textOf } from "../parts/value.tsx";

export function DiffScreen({ before, after }: { before: string; after: string }): JSX.Element {
  const { data, reload } = useLoad(`${before} ${after}`, () => getDiff(before, after));
  const { value, error } = data.value;
  if (error !== null && value === null) return <Problem text={error} onRetry={() => void reload()} />;
  if (value === null) return <p class="soft pane">Comparing…</p>;
  const showSame = queryOf("same") === "1";
  const differing = value.calls.filter(({ equal }) => !equal);
  const same = value.calls.length - differing.length;
  return (
    <div class="scroll">
      <div class="card">
        <div class="head">
          <h1>Difference</h1>
          <span class="soft">
            {same} same, {differing.length} {differing.length === 1 ? "differs" : "differ"}
          </span>
          <span class="sp" />
          <label class="check">
            <input
              type="checkbox"
              checked={showSame}
              onChange={() => setQuery({ same: showSame ? null : "1" })}
            />{" "}
            Show equal calls
          </label>
          <Link to={diffPath(after, before)} class="btn">
            Swap
          </Link>
        </div>
        <DiffTable page={value} calls={showSame ? value.calls : differing} />
      </div>
    </div>
  );
}

function DiffTable({ page, calls }: { page: DiffPage; calls: readonly DiffCall[] }): JSX.Element {
  return (
    <div class="diff" role="table" aria-label="Differences">
      <div role="row" class="diff-head">
        <span role="columnheader">Call</span>
        <span role="columnheader">
          <RunLink runId={page.before.runId} /> {page.before.label}
        </span>
        <span role="columnheader">
          <RunLink runId={page.after.runId} /> {page.after.label}
        </span>
      </div>
      {calls.map((call) => (
        <DiffRow key={call.key} name={call.key} change={call.change} call={call} />
      ))}
      <DiffRow name="the end" change={page.end.equal ? "same" : ""} call={page.end} />
    </div>
  );
}

function DiffRow({
  name,
  change,
  call,
}: {
  name: string;
  change: string;
  call: Pick<DiffCall, "equal" | "before" | "after">;
}): JSX.Element {
  const { before, after, equal } = call;
  const pieces = useMemo(() => {
    const text = (value: Plain | null): string => (value === null ? "" : textOf(value));
    return equal ? null : wordDiff(text(before), text(after));
  }, [call]);
  return (
    <div role="row">
      <span role="cell" class="k">
        {name} {change !== "" && <span class="tag">{change}</span>}
      </span>
      <span role="cell" class="text">
        {before === null ? (
          <i class="faint">not recorded</i>
        ) : pieces === null ? (
          textOf(before)
        ) : (
          <Pieces all={pieces.before} />
        )}
      </span>
      <span role="cell" class="text">
        {after === null ? (
          <i class="faint">not recorded</i>
        ) : pieces === null ? (
          textOf(after)
        ) : (
          <Pieces all={pieces.after} />
        )}
      </span>
    </div>
  );
}
