/** Tables of costs; each row opens the runs that it is about. */

import { useSignal } from "@preact/signals";
import { searchValue } from "@durable/core/inspect";
import type { JSX } from "preact";
import type { CostRow } from "@durable/core/inspect";
import type { CostReply } from "../../src/api.ts";
import { count, spent } from "../lib/format.ts";
import { Link } from "./basic.tsx";

type Sums = NonNullable<CostReply["costs"]>;

const mostRows = 8;
const purged = "purged";

export function CostTables({ costs, since }: { costs: Sums; since: number }): JSX.Element {
  const names = [
    ...new Set(costs.tags.flatMap(({ key }) => (key.includes("=") ? [key.slice(0, key.indexOf("="))] : []))),
  ];
  const chosen = useSignal(names[0] ?? "");
  const tags = costs.tags.filter(
    ({ key }) => key.startsWith(`${chosen.value}=`) || key === "" || key === purged,
  );
  const from = new Date(since).toISOString();
  const list = (terms: Readonly<Record<string, string>>): string =>
    `/?${new URLSearchParams({ ...terms, sort: "cost", since: from }).toString()}`;
  return (
    <div class="cost-tables">
      <CostTable
        title="By workflow"
        rows={costs.workflows}
        to={(key) => (key === "" ? null : list({ workflow: searchValue(key) }))}
      />
      <CostTable
        title="By model"
        rows={costs.models}
        tokens
        to={(key) => list({ model: searchValue(key) })}
      />
      <CostTable
        title="By step, tool or agent"
        rows={costs.labels}
        to={(key) => (key === purged ? null : labelList(key, list))}
      />
      <CostTable
        title="By tag"
        rows={tags}
        to={(key) => (key.includes("=") ? list({ tag: searchValue(key) }) : null)}
      >
        {names.length > 1 && (
          <select
            aria-label="Tag"
            value={chosen.value}
            onChange={(event) => (chosen.value = event.currentTarget.value)}
          >
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </CostTable>
    </div>
  );
}

/** A label is `workflow / label`. */
function labelList(key: string, list: (terms: Readonly<Record<string, string>>) => string): string {
  const [workflow = "", ...label] = key.split(" / ");
  return list({
    ...(workflow !== "" && { workflow: searchValue(workflow) }),
    step: searchValue(label.join(" / ")),
  });
}

function CostTable(props: {
  readonly title: string;
  readonly rows: readonly CostRow[];
  readonly tokens?: boolean;
  readonly to: (key: string) => string | null;
  readonly children?: JSX.Element | false;
}): JSX.Element {
  const { title, rows, tokens = false, to } = props;
  const all = useSignal(false);
  const most = Math.max(...rows.map(({ cost }) => cost), 0);
  const shown = all.value ? rows : rows.slice(0, mostRows);
  return (
    <section class="card table-card" aria-label={title}>
      <h2>
        {title} {props.children}
      </h2>
      <table>
        <thead>
          <tr>
            <th scope="col">{title.replace("By ", "").replace(/^./, (first) => first.toUpperCase())}</th>
            <th scope="col">Runs</th>
            {tokens ? <th scope="col">In, cached</th> : <th scope="col">Per run</th>}
            {tokens ? <th scope="col">Out</th> : <th scope="col">Saved</th>}
            <th scope="col">Spent</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.key}>
              <td style={{ "--share": `${most === 0 ? 0 : (row.cost / most) * 100}%` }}>
                <Name text={row.key} to={to(row.key)} />
              </td>
              <td>{row.runs === 0 ? "" : count(row.runs)}</td>
              {tokens ? <td>{tokensText(row)}</td> : <td>{perRun(row)}</td>}
              {tokens ? (
                <td>{count(row.outputTokens)}</td>
              ) : (
                <td class="ok">{row.saved === 0 ? "" : spent({ cost: row.saved, unpriced: false })}</td>
              )}
              <td>
                <b>{spent(row)}</b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="pane soft">Nothing was used.</p>}
      {rows.length > mostRows && (
        <button type="button" class="more" onClick={() => (all.value = !all.value)}>
          {all.value ? "show fewer" : `show all ${rows.length}`}
        </button>
      )}
    </section>
  );
}

function Name({ text, to }: { text: string; to: string | null }): JSX.Element {
  const name = text === "" ? "none" : text === purged ? "deleted runs" : text;
  return to === null ? <span>{name}</span> : <Link to={to}>{name}</Link>;
}

const perRun = ({ cost, runs }: CostRow): string =>
  runs === 0 ? "" : spent({ cost: cost / runs, unpriced: false });

function tokensText({ inputTokens, cachedInputTokens }: CostRow): string {
  const share = inputTokens === 0 ? 0 : Math.round((cachedInputTokens / inputTokens) * 100);
  return `${count(inputTokens)}${share === 0 ? "" : `, ${share} %`}`;
}

function rowsBy(by: string, all: readonly CostRow[]): unknown[][] {
  return all.map((row) => [
    by,
    row.key,
    row.runs,
    row.inputTokens,
    row.cachedInputTokens,
    row.outputTokens,
    row.saved,
    row.cost,
    row.unpriced ? "no" : "yes",
  ]);
}

/** All tables in one file. */
export function csvRows(costs: Sums): unknown[][] {
  const columns = [
    "by",
    "key",
    "runs",
    "inputTokens",
    "cachedInputTokens",
    "outputTokens",
    "saved",
    "cost",
    "complete",
  ];
  const days = costs.days.map(({ day, cost, saved }) => ["day", day, "", "", "", "", saved, cost, ""]);
  return [
    columns,
    ...days,
    ...rowsBy("workflow", costs.workflows),
    ...rowsBy("model", costs.models),
    ...rowsBy("step", costs.labels),
    ...rowsBy("tag", costs.tags),
  ];
}
