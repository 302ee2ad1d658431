/** The sums of a run, and where its money went. */

import type { JSX } from "preact";
import type { ChildSums, Row, RunPage } from "../../src/api.ts";
import { cost, duration, plural } from "../lib/format.ts";
import { spentFigures } from "../lib/spent.ts";
import { timeOf } from "./run-head.tsx";

export function Stats({ run, sums }: { readonly run: RunPage; readonly sums: ChildSums }): JSX.Element {
  const { totals, startedAt, endedAt } = run;
  const { reused } = totals;
  const saved = [cost(reused.cost), totals.reusedMs > 0 ? duration(totals.reusedMs) : ""].filter(Boolean);
  return (
    <div class="sums">
      <dl class="stats">
        <Stat
          name="Busy"
          value={duration(totals.busyMs)}
          note={`over ${duration((endedAt ?? timeOf(run)) - startedAt)}`}
        />
        <Stat
          name="Steps"
          value={String(totals.settled)}
          note={totals.failedAttempts > 0 ? plural(totals.failedAttempts, "failed attempt") : ""}
        />
        {spentFigures(run, sums).map((figure) => (
          <Stat key={figure.name} {...figure} />
        ))}
        {totals.fromJournal > 0 && saved.length > 0 && (
          <Stat
            name="Saved by the journal"
            value={saved[0] ?? ""}
            note={[...saved.slice(1), `${totals.fromJournal} of ${plural(totals.settled, "call")}`].join(
              ", ",
            )}
          />
        )}
      </dl>
      <Money run={run} sums={sums} />
    </div>
  );
}

function Stat({ name, value, note }: { name: string; value: string; note: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note !== "" && <small>{note}</small>}
      </dd>
    </div>
  );
}

interface Share {
  readonly name: string;
  readonly cost: number;
  readonly is: "bad" | "a" | "b" | "c" | "rest";
}

const mostShares = 3;

const isLeaf = ({ kind }: Row): boolean => kind !== "parallel" && kind !== "race" && kind !== "branch";

/** The dearest calls, and the rest. */
export function sharesOf(run: Pick<RunPage, "rows">, sums: ChildSums): Share[] {
  const costs = new Map<string, { cost: number; bad: boolean }>();
  const add = (name: string, amount: number, bad = false): void => {
    costs.set(name, { cost: (costs.get(name)?.cost ?? 0) + amount, bad });
  };
  for (const row of run.rows) {
    if (!isLeaf(row) || row.fromJournal === true) continue;
    const sum = row.child === undefined ? undefined : sums[row.child];
    if (sum !== undefined) add(row.name, sum.cost ?? 0);
    else if (row.struck !== undefined) add("before the retry", row.cost ?? 0, true);
    else add(row.turn === undefined ? row.name : "turns of the model", row.cost ?? 0);
  }
  const sorted = [...costs]
    .filter(([, { cost: amount }]) => amount > 0)
    .toSorted(([, a], [, b]) => b.cost - a.cost);
  const letters = ["a", "b", "c"] as const;
  const shares = sorted.slice(0, mostShares).map(([name, { cost: amount, bad }], i): Share => ({
    name,
    cost: amount,
    is: bad ? "bad" : (letters[i] ?? "c"),
  }));
  const rest = sorted.slice(mostShares).reduce((sum, [, { cost: amount }]) => sum + amount, 0);
  return rest > 0 ? [...shares, { name: "the rest", cost: rest, is: "rest" }] : shares;
}

function Money({ run, sums }: { readonly run: RunPage; readonly sums: ChildSums }): JSX.Element | null {
  const shares = sharesOf(run, sums);
  const all = shares.reduce((sum, share) => sum + share.cost, 0);
  if (shares.length < 2) return null;
  const part = (share: Share): number => (share.cost / all) * 100;
  return (
    <div class="money">
      <span>Where the money went</span>
      <div aria-hidden="true">
        {shares.map((share) => (
          <i key={share.name} class={share.is} style={{ flexGrow: part(share) }} title={cost(share.cost)} />
        ))}
      </div>
      <small>
        {shares.map((share) => (
          <em key={share.name} class={share.is}>
            {share.name} {Math.round(part(share))} %
          </em>
        ))}
      </small>
    </div>
  );
}
