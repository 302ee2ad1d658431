/** Waits for people, over all runs. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { InboxItem, Unreadable } from "../../src/api.ts";
import { getInbox, watch } from "../lib/api.ts";
import { duration, shortId } from "../lib/format.ts";
import { useKeys, useThrottle } from "../lib/hooks.ts";
import { queryOf, runPath, setQuery } from "../lib/router.ts";
import { messageOf, now, session, waiting } from "../lib/state.ts";
import { AnswerForm } from "../parts/answer-form.tsx";
import { Empty, Link, Problem, RunLink } from "../parts/basic.tsx";
import { Value } from "../parts/value.tsx";

interface InboxState {
  readonly items: Signal<readonly InboxItem[] | null>;
  readonly unreadable: Signal<readonly Unreadable[]>;
  readonly next: Signal<string | null>;
  readonly error: Signal<string | null>;
  readonly load: (from: string | null) => Promise<void>;
}

function useInbox(): InboxState {
  const items = useSignal<readonly InboxItem[] | null>(null);
  const unreadable = useSignal<readonly Unreadable[]>([]);
  const next = useSignal<string | null>(null);
  const error = useSignal<string | null>(null);
  const load = async (from: string | null): Promise<void> => {
    try {
      const page = await getInbox(from);
      const found = [...(from === null ? [] : (items.peek() ?? [])), ...page.items];
      const damaged = [...(from === null ? [] : unreadable.peek()), ...page.unreadable];
      const cursor = page.next;
      unreadable.value = damaged;
      [items.value, next.value, error.value] = [found, cursor, null];
      waiting.value = page.open;
    } catch (problem) {
      error.value = messageOf(problem);
    }
  };
  const reload = useThrottle(() => load(null), 1_000);
  useEffect(() => {
    void load(null);
    return watch(null, reload);
  }, []);
  return { items, unreadable, next, error, load };
}

export function InboxScreen(): JSX.Element {
  const { items, unreadable, next, error, load } = useInbox();
  const all = items.value ?? [];
  const chosen = Math.max(
    0,
    all.findIndex(({ runId, wait }) => runId === queryOf("run") && wait.key === queryOf("key")),
  );
  const choose = (index: number): void => {
    const item = all[Math.min(all.length - 1, Math.max(0, index))];
    if (item !== undefined) setQuery({ run: item.runId, key: item.wait.key });
  };
  useKeys({ j: () => choose(chosen + 1), k: () => choose(chosen - 1) });
  if (error.value !== null && items.value === null)
    return <Problem text={error.value} onRetry={() => void load(null)} />;
  if (items.value === null) return <p class="soft pane">Reading the waits…</p>;
  const item = all[chosen];
  if (item === undefined)
    return (
      <>
        <Damaged runs={unreadable.value} />
        <Nothing />
      </>
    );
  return (
    <>
      <Damaged runs={unreadable.value} />
      <div class="card inbox">
        <div class="inbox-list">
          <div
            role="listbox"
            aria-label={`Open waits, ${waiting.value.count}${waiting.value.more ? " and more" : ""}`}
            tabIndex={0}
            onKeyDown={(event) => {
              const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
              if (step === 0) return;
              event.preventDefault();
              choose(chosen + step);
            }}
          >
            {all.map((each, i) => (
              <Line
                key={`${each.runId} ${each.wait.key}`}
                item={each}
                chosen={i === chosen}
                onChoose={() => choose(i)}
              />
            ))}
          </div>
          {next.value !== null && (
            <button type="button" class="more" onClick={() => void load(next.value)}>
              show more
            </button>
          )}
        </div>
        <Detail item={item} onDone={() => void load(null)} />
      </div>
    </>
  );
}

/** Runs that wait, and whose journals cannot be read: what they ask is not known. */
function Damaged({ runs }: { runs: readonly Unreadable[] }): JSX.Element | null {
  if (runs.length === 0) return null;
  return (
    <div class="card pane" role="alert">
      {runs.map(({ runId, workflow, problem }) => (
        <p key={runId}>
          <span class="st fail">Damaged</span> {workflow} <RunLink runId={runId} />{" "}
          <span class="soft" dir="auto">
            {problem}
          </span>
        </p>
      ))}
    </div>
  );
}

function Nothing(): JSX.Element {
  return (
    <div class="card">
      <Empty title="No run waits for an answer now.">
        A run waits here when its code calls
        <br />
        <code>await ctx.suspend("approve", {"{ schema }"})</code>
        <br />
        This page is watching.
      </Empty>
    </div>
  );
}

function Line({
  item,
  chosen,
  onChoose,
}: {
  item: InboxItem;
  chosen: boolean;
  onChoose: () => void;
}): JSX.Element {
  const { wait, workflow, runId } = item;
  return (
    <div
      role="option"
      aria-selected={chosen}
      class={`line ${chosen ? "sel" : ""}`}
      onClick={onChoose}
      title={wait.key}
    >
      <span class="st waits">{wait.name}</span>
      <span dir="auto">{questionOf(item)}</span>
      <span>
        {workflow} <span class="id">{shortId(runId)}</span>
      </span>
      <span class="faint">{sinceOf(item)}</span>
    </div>
  );
}

function sinceOf({ wait }: InboxItem): string {
  const left = wait.expiresAt === null ? "" : `, ${duration(Math.max(0, wait.expiresAt - now.value))} left`;
  return `waiting ${duration(now.value - wait.openedAt)}${left}`;
}

function Detail({ item, onDone }: { item: InboxItem; onDone: () => void }): JSX.Element {
  const { wait, runId, workflow } = item;
  const { readOnly = true, code = [] } = session.value ?? {};
  return (
    <section class="inbox-detail" aria-label={`Wait ${wait.key}`}>
      <div class="head">
        <span class="st waits">{wait.name}</span>
        <h1>{questionOf(item)}</h1>
        <span class="sp" />
        <span class="faint">{sinceOf(item)}</span>
      </div>
      <div class="pane">
        <p class="soft">
          {workflow}{" "}
          <Link to={`${runPath(runId)}?step=${encodeURIComponent(wait.key)}`} class="id link">
            {runId}
          </Link>{" "}
          <span class="id">{wait.key}</span>
        </p>
        {wait.note !== null && <Value value={wait.note} label="the note" />}
      </div>
      {readOnly ? (
        <p class="pane soft">This page is read-only.</p>
      ) : (
        <AnswerForm
          key={`${runId} ${wait.key}`}
          runId={runId}
          wait={wait}
          canFork={code.includes(workflow)}
          onDone={onDone}
        />
      )}
    </section>
  );
}

/** A note that is a text, or has one, is the question. */
function questionOf({ wait: { note, name } }: InboxItem): string {
  if (typeof note === "string") return note.length <= 200 ? note : `${note.slice(0, 200)}…`;
  if (typeof note === "object" && note !== null && !Array.isArray(note)) {
    const fields = note as Readonly<Record<string, unknown>>;
    const text = fields["question"] ?? fields["title"] ?? fields["summary"] ?? fields["message"];
    if (typeof text === "string" && text.length <= 200) return text;
  }
  return name;
}
