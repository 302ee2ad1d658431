/** One answer for several runs that ask the same. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { InboxItem, Wait } from "../../src/api.ts";
import { getWaits, postAnswer } from "../lib/api.ts";
import { plural } from "../lib/format.ts";
import { doneText, forEach } from "../lib/many.ts";
import { session } from "../lib/state.ts";
import { AnswerForm } from "./answer-form.tsx";
import { Dialog } from "./basic.tsx";

interface TogetherProps {
  readonly items: readonly InboxItem[];
  readonly picked: Signal<ReadonlySet<string>>;
  readonly onDone: (runIds: readonly string[]) => void;
}

export function AnswerTogether({ items, picked, onDone }: TogetherProps): JSX.Element | null {
  const opened = useSignal(false);
  const chosen = items.filter(({ runId }) => picked.value.has(runId));
  if (session.value?.readOnly !== false || items.length < 2) return null;
  const isAll = chosen.length === items.length;
  return (
    <div class="together">
      <label class="check">
        <input
          type="checkbox"
          checked={isAll}
          onChange={() => (picked.value = new Set(isAll ? [] : items.map(({ runId }) => runId)))}
        />{" "}
        {chosen.length === 0 ? `Select these ${items.length}` : `${chosen.length} selected`}
      </label>
      <button
        type="button"
        class="btn"
        disabled={chosen.length === 0}
        title={chosen.length === 0 ? "Select questions first" : undefined}
        onClick={() => (opened.value = true)}
      >
        Answer together
      </button>
      {opened.value && (
        <Together
          items={chosen}
          onClose={() => (opened.value = false)}
          onDone={() => {
            picked.value = new Set();
            opened.value = false;
            onDone(chosen.map(({ runId }) => runId));
          }}
        />
      )}
    </div>
  );
}

interface Asked {
  readonly runId: string;
  readonly wait: Wait;
}

/** What the first of them asks, and all that ask the same by the same schema. */
interface Same {
  readonly first: Asked;
  readonly all: readonly Asked[];
}

const sign = ({ wait: { name, schema } }: Asked): string => JSON.stringify([name, schema]);

async function readAll(items: readonly InboxItem[], progress: (n: number) => void): Promise<Same | null> {
  const found = new Map<string, Asked>();
  const read = async ({ runId }: InboxItem): Promise<void> => {
    const { waits } = await getWaits(runId);
    if (waits[0] !== undefined) found.set(runId, { runId, wait: waits[0] });
  };
  await forEach(items, read, progress);
  const asked = items.flatMap(({ runId }) => found.get(runId) ?? []);
  const [first] = asked;
  return first === undefined ? null : { first, all: asked.filter((each) => sign(each) === sign(first)) };
}

function Together(props: {
  readonly items: readonly InboxItem[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const { items, onClose, onDone } = props;
  const same = useSignal<Same | null | "reading">("reading");
  const progress = useSignal(0);
  useEffect(() => {
    void readAll(items, (n) => (progress.value = n)).then((found) => (same.value = found));
  }, []);
  const { value } = same;
  const left = value === null || value === "reading" ? 0 : items.length - value.all.length;
  return (
    <Dialog title={`One answer for ${plural(items.length, "run")}`} onClose={onClose} wide>
      {value === "reading" ? (
        <p class="pane soft" role="status">{`Reading ${progress.value} of ${items.length}…`}</p>
      ) : value === null ? (
        <p class="pane">None of these runs waits for an answer any more.</p>
      ) : (
        <>
          <p class="pane">
            {plural(value.all.length, "run")} of workflow {workflowOf(items, value.first)} ask{" "}
            <b>{value.first.wait.name}</b> with the same form.
            {left > 0 && ` ${left} ${left === 1 ? "asks" : "ask"} something else and get no answer.`}
            {progress.value > items.length && ` Answered ${progress.value - items.length}.`}
          </p>
          <AnswerForm
            runId={value.first.runId}
            wait={value.first.wait}
            canFork={false}
            onDone={onDone}
            many={{
              count: value.all.length,
              answer: async (answer) => {
                const given = await forEach(
                  value.all,
                  ({ runId, wait }) => postAnswer(runId, wait.key, answer),
                  (n) => (progress.value = items.length + n),
                );
                return doneText("Answered", "run", given);
              },
            }}
          />
        </>
      )}
    </Dialog>
  );
}

function workflowOf(items: readonly InboxItem[], { runId }: Asked): string {
  return items.find((item) => item.runId === runId)?.workflow ?? "";
}
