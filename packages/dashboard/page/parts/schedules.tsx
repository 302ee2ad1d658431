/** Schedules: when they tick, and buttons to pause, unpause, trigger and remove them. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ScheduleInfo } from "@durable/core";
import { postSchedule } from "../lib/api.ts";
import { clock, duration, fullTime } from "../lib/format.ts";
import { now, session } from "../lib/state.ts";
import type { OperateProps } from "./operate-props.ts";
import { Dialog, Empty, RunLink } from "./basic.tsx";
import { Table } from "./table.tsx";

export function Schedules({ data, act }: OperateProps): JSX.Element {
  const removing = useSignal<string | null>(null);
  if (data.schedules === null) return <Empty title="This storage keeps no schedules." />;
  if (data.schedules.length === 0)
    return (
      <Empty title="No schedules yet.">
        <code>await app.schedule("daily", flow, {'{ cron: "0 9 * * *" }'})</code>
      </Empty>
    );
  const rows = data.schedules.map((schedule) => [
    <b key="name">{schedule.name}</b>,
    schedule.workflow,
    <span key="when" class="key">
      {timing(schedule)}
    </span>,
    <Next key="next" schedule={schedule} />,
    schedule.lastRunId === null ? (
      ""
    ) : (
      <span key="last">
        {schedule.lastAt !== null && `${clock(schedule.lastAt, now.value)} `}
        <RunLink runId={schedule.lastRunId} />
      </span>
    ),
    act === null ? (
      ""
    ) : (
      <Buttons key="do" schedule={schedule} act={act} onRemove={() => (removing.value = schedule.name)} />
    ),
  ]);
  return (
    <>
      <Table
        label="Schedules"
        columns={["Schedule", "Workflow", "When", "Next", "Last run", ""]}
        rows={rows}
      />
      {removing.value !== null && act !== null && (
        <RemoveDialog name={removing.value} act={act} onClose={() => (removing.value = null)} />
      )}
    </>
  );
}

function timing({ cron, every, timezone }: ScheduleInfo): string {
  return cron === null ? `every ${duration(every ?? 0)}` : `${cron} ${timezone ?? ""}`;
}

function Next({ schedule: { nextAt, paused, queuedAt } }: { schedule: ScheduleInfo }): JSX.Element {
  if (paused) return <span class="st waits">Paused</span>;
  if (nextAt === null) return <></>;
  return (
    <span title={fullTime(nextAt)}>
      {clock(nextAt, now.value)} <span class="faint">in {duration(Math.max(0, nextAt - now.value))}</span>
      {queuedAt !== null && <span class="tag">one tick waits</span>}
    </span>
  );
}

function Buttons({
  schedule: { name, paused, workflow },
  act,
  onRemove,
}: {
  schedule: ScheduleInfo;
  act: NonNullable<OperateProps["act"]>;
  onRemove: () => void;
}): JSX.Element {
  const button = (text: string, onClick: () => void): JSX.Element => (
    <button type="button" class="btn" aria-label={`${text} ${name}`} onClick={onClick}>
      {text}
    </button>
  );
  return (
    <span class="row-buttons">
      {paused
        ? button("Unpause", () => act(() => postSchedule(name, "unpause")))
        : button("Pause", () => act(() => postSchedule(name, "pause")))}
      {session.value?.code.includes(workflow) === true &&
        button("Trigger", () => act(() => postSchedule(name, "trigger")))}
      {button("Remove", onRemove)}
    </span>
  );
}

function RemoveDialog({
  name,
  act,
  onClose,
}: {
  name: string;
  act: NonNullable<OperateProps["act"]>;
  onClose: () => void;
}): JSX.Element {
  return (
    <Dialog title={`Remove ${name}?`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          act(() => postSchedule(name, "delete"));
          onClose();
        }}
      >
        <p>It starts no further run. Its runs stay. It returns when a program defines it again.</p>
        <div class="buttons">
          <button type="submit" class="btn danger">
            Remove the schedule
          </button>
          <button type="button" class="btn" onClick={onClose}>
            Keep it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
