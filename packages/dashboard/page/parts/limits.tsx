/** Slots that are taken, runs that wait for one, and the use of rates and quotas. */

import type { JSX } from "preact";
import { count } from "../lib/format.ts";
import type { OperateProps } from "./operate-props.ts";
import { Empty } from "./basic.tsx";
import { Table } from "./table.tsx";

export function Limits({ data: { limits } }: OperateProps): JSX.Element {
  if (limits === null) return <Empty title="This storage keeps no limits. SQLite and Postgres do." />;
  const { slots, windows } = limits;
  if (slots.length + windows.length === 0)
    return (
      <Empty title="No run has a slot or waits for one, and no rate or limit is in use.">
        <code>durable("mail", send, {"{ concurrency: 5 }"})</code>
      </Empty>
    );
  return (
    <>
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
