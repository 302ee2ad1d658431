/** What waits for people, over all runs: a list of things to decide, the most urgent first. */

import "../inbox.css";
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { Inbox, InboxItem, Unreadable } from "../../src/api.ts";
import { plural, shortId, timeLeft } from "../lib/format.ts";
import { useKeys } from "../lib/hooks.ts";
import { useInbox, useOpenQuestion } from "../lib/inbox-store.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { now, session } from "../lib/state.ts";
import { AnswerTogether } from "../parts/answer-together.tsx";
import { Empty, Link, Problem, RunLink } from "../parts/basic.tsx";
import { Decision } from "../parts/decision.tsx";

export function InboxScreen(): JSX.Element {
  const q = queryOf("q");
  const { page, error, load } = useInbox(q);
  const { item, unknown, choose, answered } = useOpenQuestion(page.value, q);
  const picked = useSignal<ReadonlySet<string>>(new Set());
  const all = page.value?.items ?? [];
  const move = (step: number): void => {
    const at = all.findIndex(({ runId }) => runId === item?.runId);
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    if (next !== undefined) choose(next.runId);
  };
  const pick = (runId: string): void => togglePicked(picked, runId);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => item !== null && pick(item.runId),
  });
  const { value } = page;
  if (value === null)
    return error.value === null ? (
      <p class="soft pane">Reading the waits…</p>
    ) : (
      <Problem text={error.value} onRetry={() => void load()} />
    );
  const done = (runIds: readonly string[]): void => {
    answered(runIds);
    void load();
  };
  return (
    <>
      <Head open={value.open} />
      <Damaged runs={value.unreadable} />
      {all.length === 0 && item === null && unknown === null ? (
        <Nothing />
      ) : (
        <div class="card inbox">
          <div class="inbox-list">
            <Lines items={all} chosen={item?.runId ?? ""} picked={picked.value} onPick={pick} />
            {value.next !== null && (
              <button type="button" class="more" onClick={() => void load(true)}>
                show more
              </button>
            )}
            <AnswerTogether items={all} picked={picked} onDone={done} />
          </div>
          {item === null ? (
            <NoDecision unknown={unknown} />
          ) : (
            <Decision key={item.runId} item={item} onDone={done} onNext={() => choose(null)} />
          )}
        </div>
      )}
    </>
  );
}

/** The question is being read, or there is none. */
function NoDecision({ unknown }: { unknown: string | null }): JSX.Element {
  return (
    <section class="inbox-detail" aria-label="The decision">
      <p class="soft pane">{unknown === null ? "Reading the question…" : `There is no run ${unknown}.`}</p>
    </section>
  );
}

function togglePicked(picked: Signal<ReadonlySet<string>>, runId: string): void {
  const next = new Set(picked.peek());
  if (!next.delete(runId)) next.add(runId);
  picked.value = next;
}

function Head({ open }: { open: Inbox["open"] }): JSX.Element {
  const { count, more, late, soon } = open;
  const parts = [
    `${plural(count, "decision")}${more ? " or more" : ""}`,
    ...(late > 0 ? [`${late} late`] : []),
    ...(soon > 0 ? [`${soon} ${soon === 1 ? "expires" : "expire"} within a day`] : []),
  ];
  return (
    <div class="hd">
      <h1>{count === 0 ? "Nothing to decide" : parts.join(", ")}</h1>
      <span class="sp" />
      <span class="soft hide">
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> select
      </span>
      <input
        type="search"
        class="find"
        aria-label="Search the questions"
        placeholder="words, id, customer=42"
        defaultValue={queryOf("q")}
        onInput={(event) => setQuery({ q: event.currentTarget.value, run: null, key: null })}
      />
    </div>
  );
}

/** Runs that wait, and whose heads are damaged: what they ask is not known. */
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
  if (queryOf("q") !== "")
    return (
      <div class="card">
        <Empty title="No question fits these words." />
      </div>
    );
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

const hour = 3_600_000;

/** Under which heading a wait stands. */
function groupOf({ expiresAt }: InboxItem, time: number): string {
  if (expiresAt === null) return "No time limit";
  const left = expiresAt - time;
  return left <= 0 ? "Late" : left <= hour ? "Within the hour" : left <= 24 * hour ? "Within a day" : "Later";
}

interface LinesProps {
  readonly items: readonly InboxItem[];
  readonly chosen: string;
  readonly picked: ReadonlySet<string>;
  readonly onPick: (runId: string) => void;
}

function Lines({ items, ...rest }: LinesProps): JSX.Element {
  const groups = [...Map.groupBy(items, (item) => groupOf(item, now.value))];
  return (
    <>
      {groups.map(([name, inside]) => (
        <section key={name} aria-label={name}>
          <h2>
            {name} <b>{inside.length}</b>
          </h2>
          <ul>
            {inside.map((item) => (
              <Line key={item.runId} item={item} {...rest} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Line({
  item,
  chosen,
  picked,
  onPick,
}: Omit<LinesProps, "items"> & { item: InboxItem }): JSX.Element {
  const { runId, count } = item;
  const isChosen = runId === chosen;
  const canPick = session.value?.readOnly === false;
  return (
    <li class={isChosen ? "sel" : ""}>
      {canPick && (
        <input
          type="checkbox"
          aria-label={`Select ${runId}`}
          checked={picked.has(runId)}
          onChange={() => onPick(runId)}
        />
      )}
      <Link to={decisionPath(item)} class="line" current={isChosen}>
        <span class="q" dir="auto">
          {questionOf(item)}
        </span>
        <Left item={item} />
        <span class="about">
          <About item={item} />
          {count > 1 && <span class="tag">{count} questions</span>}
        </span>
      </Link>
    </li>
  );
}

/** The address of this decision, to send to somebody. */
export const decisionPath = ({ runId }: Pick<InboxItem, "runId">): string =>
  `/inbox?${new URLSearchParams({ run: runId, ...(queryOf("q") === "" ? {} : { q: queryOf("q") }) }).toString()}`;

export const questionOf = ({ question, workflow }: InboxItem): string =>
  question === "" ? `${workflow} asks` : question;

function About({ item: { workflow, runId, tags } }: { item: InboxItem }): ComponentChildren {
  const named = Object.entries(tags).slice(0, 3);
  return (
    <>
      {workflow} <span class="id">{shortId(runId)}</span>
      {named.map(([name, value]) => (
        <span key={name} class="tag">
          {name}={value}
        </span>
      ))}
    </>
  );
}

export function Left({ item: { expiresAt } }: { item: Pick<InboxItem, "expiresAt"> }): JSX.Element | null {
  if (expiresAt === null) return null;
  const left = expiresAt - now.value;
  const urgency = left <= hour ? "bad" : left <= 24 * hour ? "wait" : "soft";
  return <span class={`left ${urgency}`}>{timeLeft(left)}</span>;
}
