/** Actions with many runs: how many is said first, and each run is allowed or refused on its own. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RunItem } from "../../src/api.ts";
import { postAction } from "../lib/api.ts";
import { saveCsv } from "../lib/csv.ts";
import { plural, spent } from "../lib/format.ts";
import { doneText, forEach } from "../lib/many.ts";
import { useKeys } from "../lib/hooks.ts";
import { say, session } from "../lib/state.ts";
import { Dialog } from "./basic.tsx";

export type BulkVerb = "Retry" | "Cancel" | "Pause" | "Unpause";

const past: Readonly<Record<BulkVerb, string>> = {
  Retry: "Retried",
  Cancel: "Cancelled",
  Pause: "Paused",
  Unpause: "Unpaused",
};
const withReason: ReadonlySet<BulkVerb> = new Set(["Cancel", "Pause"]);

interface DialogProps {
  readonly verb: BulkVerb;
  readonly runs: readonly string[];
  readonly act: (runId: string, reason: string) => Promise<unknown>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BulkDialog({ verb, runs, act, onClose, onDone }: DialogProps): JSX.Element {
  const [done, reason] = [useSignal<number | null>(null), useSignal("")];
  const what = plural(runs.length, "run");
  const start = async (): Promise<void> => {
    done.value = 0;
    const result = await forEach(
      runs,
      (runId) => act(runId, reason.peek()),
      (n) => (done.value = n),
    );
    say(doneText(past[verb], "run", result), result.done === 0);
    onClose();
    onDone();
  };
  return (
    <Dialog title={`${verb} ${what}?`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <p class="ids">
          {runs.slice(0, 5).join(", ") + (runs.length > 5 ? ` and ${runs.length - 5} more` : "")}
        </p>
        {withReason.has(verb) && (
          <label>
            Reason
            <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
          </label>
        )}
        <div class="buttons">
          <button
            type="submit"
            class={`btn ${verb === "Cancel" ? "danger" : "p"}`}
            disabled={done.value !== null || runs.length === 0}
          >
            {done.value === null ? `${verb} ${what}` : `${done.value} of ${runs.length}…`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface BarProps {
  readonly items: readonly RunItem[];
  readonly picked: Signal<ReadonlySet<string>>;
  /** Selects all runs that fit the search, also those that are not loaded. */
  readonly onAll: () => Promise<void>;
  readonly hasMore: boolean;
  readonly onDone: () => void;
}

/** What can be done with the runs that are selected. */
export function BulkBar({ items, picked, onAll, hasMore, onDone }: BarProps): JSX.Element | null {
  const verb = useSignal<BulkVerb | null>(null);
  const ids = [...picked.value];
  const ask = (one: BulkVerb) => () => ids.length > 0 && (verb.value = one);
  useKeys({ R: ask("Retry"), Escape: () => (picked.value = new Set()) });
  if (ids.length === 0) return null;
  const chosen = items.filter(({ runId }) => picked.value.has(runId));
  const cost = chosen.reduce((sum, run) => sum + (run.cost ?? 0), 0);
  const canAct = session.value?.readOnly === false;
  return (
    <div class="bulk" role="toolbar" aria-label="With the selected runs">
      <b>{ids.length} selected</b>
      {cost > 0 && <span class="d">{spent({ cost, unpriced: false })} spent so far</span>}
      {canAct && (
        <>
          <button type="button" class="p" onClick={ask("Retry")}>
            Retry
          </button>
          {(["Cancel", "Pause", "Unpause"] as const).map((one) => (
            <button key={one} type="button" onClick={ask(one)}>
              {one}
            </button>
          ))}
        </>
      )}
      <button type="button" onClick={() => saveCsv("runs", rowsOf(chosen))}>
        Export
      </button>
      {hasMore && <AllButton onAll={onAll} />}
      <button
        type="button"
        class="t"
        aria-label="Clear the selection"
        onClick={() => (picked.value = new Set())}
      >
        ✕
      </button>
      {verb.value !== null && (
        <BulkDialog
          verb={verb.value}
          runs={ids}
          act={actOf(verb.value)}
          onClose={() => (verb.value = null)}
          onDone={() => {
            picked.value = new Set();
            onDone();
          }}
        />
      )}
    </div>
  );
}

function AllButton({ onAll }: Pick<BarProps, "onAll">): JSX.Element {
  const busy = useSignal(false);
  const select = (): void => {
    busy.value = true;
    void onAll().finally(() => (busy.value = false));
  };
  return (
    <button type="button" class="t" disabled={busy.value} onClick={select}>
      {busy.value ? "selecting…" : "select all that fit"}
    </button>
  );
}

const actOf =
  (verb: BulkVerb) =>
  (runId: string, reason: string): Promise<unknown> => {
    const name = verb.toLowerCase() as "retry" | "cancel" | "pause" | "unpause";
    return postAction(
      runId,
      name,
      verb === "Retry" ? { wait: false } : withReason.has(verb) ? { reason } : {},
    );
  };

const columns = [
  "runId",
  "workflow",
  "state",
  "createdAt",
  "updatedAt",
  "steps",
  "cost",
  "tokens",
  "tags",
  "error",
];

function rowsOf(items: readonly RunItem[]): unknown[][] {
  const cells = items.map((run) => [
    run.runId,
    run.workflow,
    run.state,
    new Date(run.createdAt).toISOString(),
    new Date(run.updatedAt).toISOString(),
    run.steps,
    run.cost ?? "",
    run.tokens ?? "",
    Object.entries(run.tags ?? {})
      .map((pair) => pair.join("="))
      .join(" "),
    run.error?.message ?? "",
  ]);
  return [columns, ...cells];
}
