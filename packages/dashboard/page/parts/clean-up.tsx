/** Removes runs that have ended. It shows first what would be removed: only then can it be done. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Purge } from "../../src/api.ts";
import { postPurge } from "../lib/api.ts";
import { plural, statusName } from "../lib/format.ts";
import { messageOf, say } from "../lib/state.ts";
import type { OperateProps } from "./operate-props.ts";

const statuses = ["completed", "failed", "cancelled"] as const;

interface CleaningUp {
  readonly age: Signal<string>;
  readonly workflow: Signal<string>;
  readonly chosen: Signal<readonly string[]>;
  readonly problem: Signal<string>;
  /** What would go; `null` once the form has changed, because it no longer fits what is asked for. */
  readonly found: Signal<Purge | null>;
  readonly run: (dryRun: boolean) => Promise<void>;
}

function useCleanUp(): CleaningUp {
  const [age, workflow, problem] = [useSignal("30 days"), useSignal(""), useSignal("")];
  const chosen = useSignal<readonly string[]>(["completed"]);
  const found = useSignal<Purge | null>(null);
  const run = async (dryRun: boolean): Promise<void> => {
    problem.value = "";
    try {
      const body = { olderThan: age.value, status: chosen.value, workflow: workflow.value.trim() };
      const purge = await postPurge({ ...body, dryRun });
      found.value = dryRun ? purge : null;
      if (!dryRun) say(`Removed ${textOf(purge)}.${purge.more ? " There are more." : ""}`);
    } catch (error) {
      found.value = null;
      problem.value = messageOf(error);
    }
  };
  return { age, workflow, chosen, problem, found, run };
}

export function CleanUp({ act }: OperateProps): JSX.Element {
  const state = useCleanUp();
  const { age, workflow, problem, found, run } = state;
  if (act === null) return <p class="pane soft">This page is read-only.</p>;
  return (
    <form
      class="form clean-up"
      aria-label="Clean up"
      onInput={() => (found.value = null)}
      onSubmit={(event) => {
        event.preventDefault();
        void run(true);
      }}
    >
      <label>
        Ended longer ago than
        <input value={age.value} onInput={(event) => (age.value = event.currentTarget.value)} />
      </label>
      <Statuses chosen={state.chosen} />
      <label>
        Workflow <small>all, if it is empty</small>
        <input value={workflow.value} onInput={(event) => (workflow.value = event.currentTarget.value)} />
      </label>
      {problem.value !== "" && (
        <p class="fail" role="alert">
          {problem.value}
        </p>
      )}
      {found.value !== null && <Found purge={found.value} />}
      <div class="buttons">
        <button type="submit" class="btn p">
          Show what would go
        </button>
        {found.value !== null && found.value.runs > 0 && (
          <button type="button" class="btn danger" onClick={() => void run(false)}>
            Remove {textOf(found.value)}
          </button>
        )}
      </div>
    </form>
  );
}

function Statuses({ chosen }: { chosen: Signal<readonly string[]> }): JSX.Element {
  return (
    <fieldset class="field bare">
      <legend>Status</legend>
      {statuses.map((status) => (
        <label key={status} class="check">
          <input
            type="checkbox"
            checked={chosen.value.includes(status)}
            onChange={() => (chosen.value = toggled(chosen.value, status))}
          />{" "}
          {statusName(status)}
        </label>
      ))}
    </fieldset>
  );
}

function toggled(all: readonly string[], one: string): readonly string[] {
  return all.includes(one) ? all.filter((each) => each !== one) : [...all, one];
}

function textOf({ runs, children }: Purge): string {
  return `${plural(runs, "run")}${children === 0 ? "" : ` and ${plural(children, "child", "children")}`}`;
}

function Found({ purge }: { purge: Purge }): JSX.Element {
  const workflows = Object.entries(purge.byWorkflow).toSorted(([, a], [, b]) => b - a);
  return (
    <div class="plan" role="status">
      <p>
        {purge.runs === 0
          ? "No run fits."
          : `${textOf(purge)} would go${purge.more ? ", and there are more" : ""}.`}
        {purge.left > 0 && ` ${plural(purge.left, "run")} would stay, because a child has not ended.`}
      </p>
      {workflows.map(([name, runs]) => (
        <p key={name} class="soft">
          {runs} of {name === "" ? "journal" : name}
        </p>
      ))}
    </div>
  );
}
