/** Workers that have a name, the work that is driven or waits for one, and pauses of workflows. */

import type { JSX } from "preact";
import { postWorkflow } from "../lib/api.ts";
import { clock, duration } from "../lib/format.ts";
import { now } from "../lib/state.ts";
import type { OperateProps } from "./operate-props.ts";
import { Link } from "./basic.tsx";
import { Table } from "./table.tsx";

const ago = (at: number): string => duration(Math.max(0, now.value - at));

export function Workers({ data, act }: OperateProps): JSX.Element {
  const { fleet, paused } = data;
  const workers = fleet.workers?.map((worker) => [
    <b key="name">{worker.name}</b>,
    `${worker.active} of ${worker.concurrency}`,
    clock(worker.since, now.value),
    `${ago(worker.seenAt)} ago`,
    worker.workflows.join(", "),
    worker.versions?.join(", ") ?? "all",
  ]);
  const load = fleet.load.map((work) => [
    <Link key="name" to={`/?${new URLSearchParams({ workflow: work.workflow }).toString()}`} class="link">
      {work.workflow === "" ? "journal" : work.workflow}
    </Link>,
    String(work.driven),
    String(work.due),
    work.dueSince === null ? "" : ago(work.dueSince),
    work.paused ? (
      <span key="state" class="st waits" title={paused.find(isOf(work.workflow))?.reason ?? ""}>
        Paused
      </span>
    ) : (
      ""
    ),
    act === null || work.workflow === "" ? "" : <PauseButton key="do" {...work} act={act} />,
  ]);
  return (
    <>
      {workers === undefined || workers.length === 0 ? (
        <p class="pane soft">
          {workers === undefined ? "This storage cannot list workers." : "No worker has a name. "}
          {workers !== undefined && <code>createWorker(app, {'{ name: "mail-1" }'})</code>}
        </p>
      ) : (
        <Table
          label="Workers"
          columns={["Worker", "Drives", "Since", "Seen", "Workflows", "Versions"]}
          rows={workers}
        />
      )}
      {load.length === 0 ? (
        <p class="pane soft">No run is under way, and none is due.</p>
      ) : (
        <Table
          label="Work"
          columns={["Workflow", "Driven", "Due, without a driver", "Longest", "State", ""]}
          rows={load}
        />
      )}
      {fleet.more && <p class="pane soft">More runs are under way than were counted.</p>}
    </>
  );
}

const isOf =
  (name: string) =>
  ({ workflow }: { readonly workflow: string }): boolean =>
    workflow === name;

function PauseButton(props: {
  workflow: string;
  paused: boolean;
  act: NonNullable<OperateProps["act"]>;
}): JSX.Element {
  const { workflow, paused, act } = props;
  const text = paused ? "Unpause" : "Pause";
  return (
    <button
      type="button"
      class="btn"
      aria-label={`${text} ${workflow}`}
      onClick={() => act(() => postWorkflow(workflow, paused ? "unpause" : "pause", ""))}
    >
      {text}
    </button>
  );
}
