/** What was spent, by day and model, and by workflow, step, model and tag; what forks saved; and which limits are near. */

import "../cost.css";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CostReply } from "../../src/api.ts";
import { getCost, watch } from "../lib/api.ts";
import { saveCsv } from "../lib/csv.ts";
import { count, plural, shortId, spent } from "../lib/format.ts";
import { useLoad, useThrottle } from "../lib/hooks.ts";
import { queryOf, runPath, setQuery } from "../lib/router.ts";
import { Empty, Link, Problem } from "../parts/basic.tsx";
import { CostChart } from "../parts/cost-chart.tsx";
import { CostTables, csvRows } from "../parts/cost-tables.tsx";
import { percent } from "../parts/pulse.tsx";

const ranges: readonly (readonly [string, string])[] = [
  ["1", "Today"],
  ["14", "14 d"],
  ["30", "30 d"],
];
const everyMs = 10_000;

export function CostScreen(): JSX.Element {
  const days = ranges.some(([value]) => value === queryOf("days")) ? queryOf("days") : "14";
  const { data, reload } = useLoad(`cost ${days}`, () => getCost(days));
  const again = useThrottle(reload, everyMs);
  useEffect(() => watch(null, again), []);
  const { value, error } = data.value;
  if (value === null)
    return error === null ? (
      <p class="soft pane">Reading the costs…</p>
    ) : (
      <Problem text={error} onRetry={() => void reload()} />
    );
  const { costs } = value;
  if (costs === null)
    return (
      <div class="card">
        <Empty title="This storage cannot sum the runs of a time. SQLite and Postgres can." />
      </div>
    );
  return (
    <div class="cost">
      <div class="hd">
        <h1>{titleOf(value)}</h1>
        <span class="sp" />
        <span class="seg" role="group" aria-label="Days">
          {ranges.map(([days_, name]) => (
            <label key={days_} class={days_ === days ? "on" : ""}>
              <input
                type="radio"
                name="days"
                checked={days_ === days}
                onChange={() => setQuery({ days: days_ === "14" ? null : days_ })}
              />
              {name}
            </label>
          ))}
        </span>
        <button type="button" class="btn" onClick={() => saveCsv(`cost-${days}-days`, csvRows(costs))}>
          Export CSV
        </button>
      </div>
      <div class="card">
        <Sums reply={value} costs={costs} />
        <CostChart costs={costs} />
      </div>
      <Limits limits={value.limits} />
      <CostTables costs={costs} since={value.since} />
      <Dearest runs={value.dearest} since={value.since} />
      {costs.more && <p class="soft">There are more runs than were summed: the oldest are missing.</p>}
      {!costs.keepsPurged && <p class="soft">What deleted runs used is not known on this storage.</p>}
    </div>
  );
}

type Sums = NonNullable<CostReply["costs"]>;

/** Spent today, and what that makes by midnight at the same pace. */
function titleOf({ costs, now }: CostReply): string {
  const today = costs?.days.at(-1)?.cost ?? 0;
  const share = (now % 86_400_000) / 86_400_000;
  const whole = { cost: share > 0.02 ? today / share : today, unpriced: false };
  const about = today > 0 && share > 0.02 ? `, about ${spent(whole)} by midnight UTC` : "";
  return `${spent({ cost: today, unpriced: false })} today${about}`;
}

function Sums({ reply: { before }, costs }: { reply: CostReply; costs: Sums }): JSX.Element {
  const { total, failed, perRun, days } = costs;
  const whole = total.cost + total.saved;
  return (
    <dl class="totals">
      <div>
        <dt>{days.length === 1 ? "Spent today" : `Spent in ${days.length} days`}</dt>
        <dd>{spent(total)}</dd>
        <dd class="more">
          {before === null || before === 0
            ? plural(total.runs, "run")
            : `${total.cost >= before ? "+" : "−"}${percent(Math.abs(total.cost / before - 1) * 100)} against the time before`}
        </dd>
      </div>
      <div>
        <dt>Saved by forks and reuse</dt>
        <dd class="ok">{spent({ cost: total.saved, unpriced: false })}</dd>
        <dd class="more">
          {whole === 0
            ? "nothing was reused"
            : `${percent((total.saved / whole) * 100)} of what it would have cost`}
        </dd>
      </div>
      <div>
        <dt>Per run, median</dt>
        <dd>{perRun === null ? "–" : spent({ cost: perRun.median, unpriced: false })}</dd>
        <dd class="more">
          {perRun === null
            ? ""
            : `p95 ${spent({ cost: perRun.p95, unpriced: false })}, ${plural(total.runs, "run")}`}
        </dd>
      </div>
      <div>
        <dt>Paid for failures</dt>
        <dd class={failed.cost > 0 ? "bad" : ""}>{spent({ cost: failed.cost, unpriced: false })}</dd>
        <dd class="more">
          {failed.runs === 0
            ? "no failed run used anything"
            : `${percent(total.cost === 0 ? 0 : (failed.cost / total.cost) * 100)}, ${plural(failed.runs, "run")}`}
        </dd>
      </div>
    </dl>
  );
}

const near = 0.8;

function Limits({ limits }: { limits: CostReply["limits"] }): JSX.Element | null {
  if (limits.length === 0) return null;
  return (
    <section class="card near" aria-label="Budgets and quotas">
      {limits.map(({ name, what, used, most }) => {
        const share = most === 0 ? 1 : used / most;
        const isMoney = what === "cost" || what === "budget";
        const amount = (value: number): string =>
          isMoney ? spent({ cost: value, unpriced: false }) : count(Math.round(value));
        return (
          <div key={`${name} ${what}`}>
            <p>
              <b>{what === "budget" ? `${name}, per run` : name}</b>
              <span class={share >= 1 ? "bad" : share >= near ? "wait" : ""}>{percent(share * 100)}</span>
            </p>
            <meter min={0} max={1} high={near} value={Math.min(1, share)} aria-label={`${name} ${what}`} />
            <p class="soft">
              {what === "budget"
                ? `dearest ${amount(used)} of ${amount(most)}`
                : `${amount(used)} of ${amount(most)} ${isMoney ? "" : what}`}
            </p>
          </div>
        );
      })}
    </section>
  );
}

function Dearest({ runs, since }: { runs: CostReply["dearest"]; since: number }): JSX.Element | null {
  if (runs.length === 0) return null;
  return (
    <section class="card table-card">
      <h2>
        Dearest runs
        <Link
          to={`/?${new URLSearchParams({ sort: "cost", since: new Date(since).toISOString() }).toString()}`}
          class="link"
        >
          sort the list by cost
        </Link>
      </h2>
      <table>
        <tbody>
          {runs.map((run) => (
            <tr key={run.runId}>
              <td>
                <Link to={runPath(run.runId)} title={run.runId}>
                  <b>{run.workflow}</b> <span class="id">{shortId(run.runId)}</span>
                </Link>
              </td>
              <td class="soft" dir="auto">
                {run.error?.message ?? run.waits?.question ?? run.report ?? ""}
              </td>
              <td class="n">{count(run.tokens ?? 0)} tokens</td>
              <td class="n">
                <b>
                  {typeof run.cost === "number" ? spent({ cost: run.cost, unpriced: false }) : "no price"}
                </b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
