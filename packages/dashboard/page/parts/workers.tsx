/** Workers that have a name, the work that is driven or waits for one, and pauses of workflows. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { postWorkflow } from "../lib/api.ts";
import { clock, duration, fullTime, plural } from "../lib/format.ts";
import { now } from "../lib/state.ts";
import type { OperateProps } from "./operate-props.ts";
import { Dialog, Link, RunLink } from "./basic.tsx";
import { Table } from "./table.tsx";

const ago = (at: number): string => duration(Math.max(0, now.value - at));

export function Workers({ data, act }: OperateProps): JSX.Element {
  const { fleet } = data;
  const asking = useSignal<string | null>(null);
  const load = loadRows({ data, act }, (workflow) => (asking.value = workflow));
  const doing = data.doing.map(({ runId, key, attempt, since, words = "", worker }) => [
    <RunLink key="run" runId={runId} />,
    <b key="key">{key}</b>,
    String(attempt),
    ago(since),
    words === "" ? "" : `…${words}`,
    worker ?? <span class="faint">no name</span>,
  ]);
  return (
    <>
      <Fleet fleet={fleet} />
      <Nameless fleet={fleet} />
      {doing.length === 0 ? (
        <p class="pane soft">No call has been under way for longer than a second.</p>
      ) : (
        <Table
          label="Under way"
          columns={["Run", "Call", "Attempt", "For", "Latest words", "Worker"]}
          rows={doing}
        />
      )}
      {load.length === 0 ? (
        <p class="pane soft">No workflow is known here: none has work, and no code is loaded.</p>
      ) : (
        <Table
          label="Workflows"
          columns={["Workflow", "Driven", "Due, without a driver", "Longest", "State", ""]}
          rows={load}
        />
      )}
      {asking.value !== null && act !== null && (
        <PauseDialog workflow={asking.value} act={act} onClose={() => (asking.value = null)} />
      )}
      {fleet.more && <p class="pane soft">More runs are under way than were counted.</p>}
    </>
  );
}

/** Workers that have a name, and those that stopped. */
function Fleet({ fleet: { workers, stopped } }: { fleet: OperateProps["data"]["fleet"] }): JSX.Element {
  if (workers === null) return <p class="pane soft">This storage cannot list workers.</p>;
  return (
    <>
      {workers.length > 0 ? (
        <Table
          label="Workers"
          columns={["Worker", "Drives", "Since", "Seen", "Workflows", "Versions"]}
          rows={workers.map((worker) => [
            <b key="name">
              {workers.some(({ name, id }) => name === worker.name && id !== worker.id)
                ? `${worker.name} (${worker.id.slice(-6)})`
                : worker.name}
            </b>,
            `${worker.active} of ${worker.concurrency}`,
            clock(worker.since, now.value),
            worker.silent ? `silent for ${ago(worker.seenAt)}` : `${ago(worker.seenAt)} ago`,
            worker.workflows.join(", "),
            worker.versions?.join(", ") ?? "all",
          ])}
        />
      ) : stopped.length > 0 ? (
        <p class="pane soft">No worker with a name runs.</p>
      ) : (
        <p class="pane soft">
          No worker has a name. <code>createWorker(app, {'{ name: "mail-1" }'})</code>
        </p>
      )}
      {stopped.length > 0 && (
        <Table
          label="Stopped workers"
          columns={["Stopped worker", "Since", "Stopped"]}
          rows={stopped.map(({ name, since, stoppedAt }) => [
            name,
            clock(since, now.value),
            `${ago(stoppedAt)} ago`,
          ])}
        />
      )}
    </>
  );
}

/** Work that none of the workers of the list can have: theirs are other workflows. */
function Nameless({ fleet: { workers, load } }: Pick<OperateProps["data"], "fleet">): JSX.Element | null {
  const taken = new Set(workers?.flatMap(({ workflows }) => workflows));
  const driven = load.reduce((sum, one) => sum + (taken.has(one.workflow) ? 0 : one.driven), 0);
  if (workers === null || driven === 0) return null;
  return (
    <p class="pane soft">
      {`${plural(driven, "run")} ${driven === 1 ? "is" : "are"} driven by a process without a name: a worker that was given none, or the program that started the run.`}
    </p>
  );
}

/** Each workflow that is known or has work, with a button to pause or unpause it. */
function loadRows(
  { data: { fleet, paused, workflows }, act }: OperateProps,
  onPause: (workflow: string) => void,
): ComponentChildren[][] {
  const names = [...new Set([...workflows, ...fleet.load.map(({ workflow }) => workflow)])];
  return names.map((workflow) => {
    const work = fleet.load.find(isOf(workflow));
    const pause = paused.find(isOf(workflow));
    return [
      <Link key="name" to={`/?${new URLSearchParams({ workflow }).toString()}`} class="link">
        {workflow === "" ? "journal" : workflow}
      </Link>,
      String(work?.driven ?? 0),
      String(work?.due ?? 0),
      typeof work?.dueSince === "number" ? ago(work.dueSince) : "",
      pause === undefined ? (
        ""
      ) : (
        <span key="state" class="st waits" title={fullTime(pause.since)}>
          Paused{pause.reason === null ? "" : `: ${pause.reason}`}
        </span>
      ),
      act === null || workflow === "" ? (
        ""
      ) : pause === undefined ? (
        <button
          key="do"
          type="button"
          class="btn"
          aria-label={`Pause ${workflow}`}
          onClick={() => onPause(workflow)}
        >
          Pause
        </button>
      ) : (
        <button
          key="do"
          type="button"
          class="btn"
          aria-label={`Unpause ${workflow}`}
          onClick={() => act(() => postWorkflow(workflow, "unpause", ""))}
        >
          Unpause
        </button>
      ),
    ];
  });
}

const isOf =
  (name: string) =>
  ({ workflow }: { readonly workflow: string }): boolean =>
    workflow === name;

function PauseDialog(props: {
  readonly workflow: string;
  readonly act: NonNullable<OperateProps["act"]>;
  readonly onClose: () => void;
}): JSX.Element {
  const { workflow, act, onClose } = props;
  const reason = useSignal("");
  return (
    <Dialog title={`Pause ${workflow}?`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          act(() => postWorkflow(workflow, "pause", reason.value));
          onClose();
        }}
      >
        <p>
          No run of it is taken until it is unpaused. Starts, answers and messages are recorded meanwhile.
        </p>
        <label>
          Reason
          <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
        <div class="buttons">
          <button type="submit" class="btn p">
            Pause the workflow
          </button>
        </div>
      </form>
    </Dialog>
  );
}
