/** Days beside each other: what was spent, by model, and what was saved. A day opens its runs. */

import type { JSX } from "preact";
import type { CostReply } from "../../src/api.ts";
import { spent } from "../lib/format.ts";
import { Link } from "./basic.tsx";

type Sums = NonNullable<CostReply["costs"]>;

const mostModels = 4;

/** The models that cost most have a colour each. */
export function CostChart({ costs }: { costs: Sums }): JSX.Element {
  const names = costs.models.filter(({ cost }) => cost > 0).map(({ key }) => key);
  const shown = names.slice(0, mostModels);
  const most = Math.max(...costs.days.map(({ cost, saved }) => Math.max(cost, saved)), 0);
  const top = roundUp(most);
  const height = (value: number): string => `${top === 0 ? 0 : (value / top) * 100}%`;
  return (
    <div class="chart">
      <p class="chart-key" aria-hidden="true">
        {shown.map((name, i) => (
          <span key={name}>
            <i class={`m${i}`} /> {name}
          </span>
        ))}
        {names.length > mostModels && (
          <span>
            <i class="m4" /> others
          </span>
        )}
        <span>
          <i class="saved" /> saved: answered by the journal
        </span>
      </p>
      <div class="chart-area">
        <ol class="chart-lines" aria-hidden="true">
          {[1, 0.75, 0.5, 0.25, 0].map((part) => (
            <li key={part}>{spent({ cost: top * part, unpriced: false })}</li>
          ))}
        </ol>
        <ul class="chart-days" aria-label="Spent by day">
          {costs.days.map(({ day, cost, saved, models }) => {
            // Parts that grow by less than 1 in all would not fill their bar.
            const others = Object.entries(models)
              .filter(([name]) => !shown.includes(name))
              .reduce((sum, [, value]) => sum + value, 0);
            const text = `${day}: ${money(cost)} spent, ${money(saved)} saved`;
            return (
              <li key={day}>
                <Link to={listOf(day)} label={text} title={text}>
                  <span class="stack" style={{ height: height(cost) }}>
                    {[...shown.map((name) => models[name] ?? 0), others].map((value, i) =>
                      value > 0 ? (
                        <i key={i} class={`m${i}`} style={{ flexGrow: String(value / cost) }} />
                      ) : null,
                    )}
                  </span>
                  <span class="saved" style={{ height: height(saved) }} />
                </Link>
                <small>
                  <span>{weekday(day)}</span> {Number(day.slice(-2))}
                </small>
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

const money = (value: number): string => spent({ cost: value, unpriced: false });

/** The next of 1, 2 or 5 of its size. */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * size >= value) ?? 10) * size;
}

const weekday = (day: string): string =>
  new Date(`${day}T12:00:00Z`).toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });

const listOf = (day: string): string => {
  const since = `${day}T00:00:00Z`;
  const until = new Date(Date.parse(since) + 86_400_000).toISOString();
  return `/?${new URLSearchParams({ sort: "cost", since, until }).toString()}`;
};
