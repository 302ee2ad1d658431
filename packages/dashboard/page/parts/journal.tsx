/** The journal as it is: entries in order, loaded a page at a time. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { JournalEntry } from "../../src/api.ts";
import { getJournal } from "../lib/api.ts";
import { fullTime, timeOfDay } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { messageOf } from "../lib/state.ts";
import { Problem } from "./basic.tsx";
import { Value } from "./value.tsx";
import { Virtual } from "./virtual.tsx";

const page = 100;

export function JournalView({ runId, total }: { runId: string; total: number }): JSX.Element {
  const chapter = queryOf("chapter");
  const entries = useSignal<ReadonlyMap<number, JournalEntry>>(new Map());
  const problem = useSignal<string | null>(null);
  const asked = useRef(new Set<number>());
  const chosen = Number(queryOf("entry") || "-1");
  const load = async (number: number): Promise<void> => {
    if (asked.current.has(number)) return;
    asked.current.add(number);
    try {
      const found = await getJournal(runId, number * page, chapter);
      const next = new Map(entries.peek());
      for (const [i, entry] of found.entries.entries()) next.set(number * page + i, entry);
      entries.value = next;
    } catch (error) {
      asked.current.delete(number);
      problem.value = messageOf(error);
    }
  };
  // A journal that has grown has a new last page.
  useEffect(() => {
    const last = Math.floor((total - 1) / page);
    asked.current.delete(last);
    void load(last);
  }, [total]);
  return (
    <div class="journal">
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <Virtual
        role="listbox"
        label="Journal"
        class="entries"
        count={total}
        height={26}
        shown={chosen}
        active={chosen < 0 ? undefined : `entry-${chosen}`}
        onView={(first, last) => {
          for (let n = Math.floor(first / page); n <= Math.floor(last / page); n++) void load(n);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step === 0) return;
          event.preventDefault();
          setQuery({ entry: String(Math.min(total - 1, Math.max(0, chosen + step))) });
        }}
        render={(i) => <EntryLine key={i} index={i} entry={entries.value.get(i)} chosen={i === chosen} />}
      />
    </div>
  );
}

/** The entry that is chosen, or `null`. */
export function chosenEntry(): number | null {
  const asked = queryOf("entry");
  return queryOf("tab") === "journal" && /^\d{1,9}$/.test(asked) ? Number(asked) : null;
}

/** One entry with all its fields. */
export function EntryPanel({ runId, index }: { runId: string; index: number }): JSX.Element {
  const chapter = queryOf("chapter");
  const { data, reload } = useLoad(`${runId} ${chapter} ${index}`, () =>
    getJournal(runId, index, chapter).then(({ entries: [first] }) => first ?? null),
  );
  const { value: entry, error } = data.value;
  if (error !== null) return <Problem text={error} onRetry={() => void reload()} />;
  if (entry === null) return <p class="pane soft">Reading the entry…</p>;
  return (
    <section class="panel" aria-label="The entry">
      <div class="facts-head">
        <div>
          <h2 class="key">{entry.kind}</h2>
          <span class="faint">entry {entry.seq}</span>
        </div>
        <div class="soft">{[entry.key, fullTime(entry.at), markOf(entry)].filter(Boolean).join(", ")}</div>
      </div>
      <div class="pane">
        <Value value={entry.rest} label="the entry" times />
      </div>
    </section>
  );
}

function EntryLine({
  index,
  entry,
  chosen,
}: {
  index: number;
  entry: JournalEntry | undefined;
  chosen: boolean;
}): JSX.Element {
  return (
    <div
      id={`entry-${index}`}
      role="option"
      aria-selected={chosen}
      class={`entry ${chosen ? "sel" : ""} ${entry?.inherited === true ? "inherited" : ""} ${entry?.struck === undefined ? "" : "struck"}`}
      onClick={() => setQuery({ entry: chosen ? null : String(index) })}
    >
      <span class="n">{entry?.seq ?? "…"}</span>
      <span class="faint">{entry === undefined ? "" : timeOfDay(entry.at)}</span>
      <span class={kindClass(entry?.kind ?? "")}>{entry?.kind ?? ""}</span>
      <span class="key">{entry?.key ?? ""}</span>
      <span class="faint" title={entry?.struck === undefined ? "" : `by the retry at ${entry.struck}`}>
        {entry === undefined ? "" : markOf(entry)}
      </span>
    </div>
  );
}

function markOf({ outside, inherited, struck }: JournalEntry): string {
  if (struck !== undefined) return "struck";
  return outside ? "outside" : inherited ? "inherited" : "";
}

function kindClass(kind: string): string {
  if (kind.endsWith("failed") || kind.endsWith("rejected") || kind.endsWith("expired")) return "fail";
  if (kind.startsWith("suspend") || kind.startsWith("sleep") || kind === "run.suspended") return "waits";
  return kind.startsWith("run.") ? "run-kind" : "";
}
