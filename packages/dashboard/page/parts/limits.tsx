/** Slots that are taken, runs that wait for one, and the use of rates and quotas. */

import type { JSX } from "preact";
import { count, duration, spent } from "../lib/format.ts";
import type { OperateProps } from "./operate-props.ts";
import { Empty } from "./basic.tsx";
import { Bars } from "./pulse.tsx";
import { Table } from "./table.tsx";

export function Limits({ data: { limits, quotas, declared } }: OperateProps): JSX.Element {
  if (limits === null) return <Empty title="This storage keeps no limits. SQLite and Postgres do." />;
  const { slots, windows } = limits;
  if (slots.length + windows.length + quotas.length + declared.length === 0)
    return (
      <Empty title="No run has a slot or waits for one, and no rate or limit is in use.">
        <code>durable("mail", send, {"{ concurrency: 5 }"})</code>
      </Empty>
    );
  return (
    <>
      {quotas.length > 0 && <Quotas quotas={quotas} />}
      {declared.length > 0 && <Declared limits={declared} />}
      {slots.length > 0 && (
        <Table
          label="Slots"
          columns={["Workflow", "Key", "Taken", "Waiting"]}
          rows={slots.map(({ workflow, slot, taken, waiting }) => [
            workflow,
            slot === "" ? "(all)" : slot,
            String(taken),
            String(waiting),
          ])}
        />
      )}
      {windows.length > 0 && (
        <Table
          label="Rates and limits"
          columns={["Kind", "Name", "Used", "Tokens", "Calls under way"]}
          rows={windows.map(({ kind, name, used, tokens, calls, damaged }) => [
            kind,
            name,
            damaged ? "Damaged" : count(used),
            kind === "rate" ? "" : count(tokens),
            kind === "rate" ? "" : String(calls),
          ])}
        />
      )}
    </>
  );
}

/** What the code says, also while nothing uses it. */
function Declared({ limits }: { limits: OperateProps["data"]["declared"] }): JSX.Element {
  return (
    <Table
      label="Limits of workflows"
      columns={["Workflow", "Limit", "For each key"]}
      rows={limits.map(({ workflow, what, max, perMs = 0, keyed }) => [
        <b key="name">{workflow}</b>,
        what === "rate"
          ? `at most ${count(max)} begin within ${duration(perMs)}`
          : `at most ${count(max)} at once`,
        keyed ? "yes" : "no, all runs together",
      ])}
    />
  );
}

function Quotas({ quotas }: Pick<OperateProps["data"], "quotas">): JSX.Element {
  return (
    <Table
      label="Quotas"
      columns={["Quota", "Of", "Used now", "At most", "Share", "Over its window"]}
      rows={quotas.map(({ quota, what, used, most, over }) => [
        <b key="name">{quota}</b>,
        what,
        what === "cost" ? spent({ cost: used, unpriced: false }) : count(Math.round(used)),
        what === "cost" ? spent({ cost: most, unpriced: false }) : count(most),
        <meter
          key="share"
          min={0}
          max={most}
          high={most * 0.8}
          value={used}
          aria-label={`${quota} ${what}`}
        />,
        over.length === 0 ? (
          ""
        ) : (
          <span key="over" class="quota-over" title="what was used in each part of the window, up to now">
            <Bars values={over} />
          </span>
        ),
      ])}
    />
  );
}
