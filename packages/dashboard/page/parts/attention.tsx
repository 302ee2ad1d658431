/** What needs somebody. An item that was seen comes back once something new is added to it. */

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Attention, Expiring, FailedGroup } from "../../src/api.ts";
import { getAttention, postAction } from "../lib/api.ts";
import { clock, count, duration, plural, spent, timeLeft } from "../lib/format.ts";
import { keep, kept } from "../lib/kept.ts";
import { messageOf, now, say, session } from "../lib/state.ts";
import { Link } from "./basic.tsx";
import { BulkDialog } from "./bulk.tsx";
import { Bars, type Range } from "./pulse.tsx";

/** What this reader has seen, by item: how far. */
const seen = signal<Readonly<Record<string, number>>>(readSeen());
const seenName = "durable-seen";
const mostSeen = 200;

function readSeen(): Record<string, number> {
  try {
    return JSON.parse(kept("durable-seen") ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

function acknowledge(id: string, upTo: number): void {
  const entries = [...Object.entries(seen.value).filter(([name]) => name !== id), [id, upTo] as const];
  seen.value = Object.fromEntries(entries.slice(-mostSeen));
  keep(seenName, JSON.stringify(seen.value));
}

interface Item {
  readonly id: string;
  /** Grows with what is new. */
  readonly upTo: number;
  readonly colour: "wait" | "block" | "bad";
  readonly count: string;
  readonly title: string;
  readonly text: string;
  readonly chart?: readonly number[];
  readonly to: string;
  readonly verb: string;
  readonly group?: FailedGroup;
}

const isNew = ({ id, upTo }: Item): boolean => (seen.value[id] ?? -1) < upTo;

export function AttentionStrip({
  data,
  range,
  onDone,
}: {
  data: Attention;
  range: Range;
  onDone: () => void;
}): JSX.Element | null {
  const [stuck, failed] = [stuckItems(data), failedItems(data, range)];
  const all = [...stuck, ...failed];
  const hidden = all.filter((item) => !isNew(item)).length;
  if (all.length === 0) return null;
  const [left, right] = [stuck.filter(isNew), failed.filter(isNew)];
  return (
    <>
      {left.length + right.length > 0 && (
        <section class="card att" aria-label="Needs attention">
          <Column label="Stuck or due" items={left} range={range} onDone={onDone} />
          <Column label="Failures, grouped" items={right} range={range} onDone={onDone} />
        </section>
      )}
      {(hidden > 0 || data.moreFailures > 0) && (
        <p class="att-more soft">
          {data.moreFailures > 0 && `${plural(data.moreFailures, "more kind")} of failures. `}
          {hidden > 0 && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                seen.value = {};
                keep(seenName, "{}");
              }}
            >
              {`Show ${hidden} acknowledged`}
            </button>
          )}
        </p>
      )}
    </>
  );
}

/** How many need somebody and were not acknowledged. */
export function openItems(data: Attention, range: Range): number {
  return [...stuckItems(data), ...failedItems(data, range)].filter(
    ({ id, upTo }) => (seen.value[id] ?? -1) < upTo,
  ).length;
}

function stuckItems({ waits, blocked, due }: Attention): Item[] {
  const time = now.peek();
  const open = waits.count - waits.late - waits.soon;
  const waiting = (id: string, title: string, one: Partial<Expiring> | null, n: number): Item[] =>
    n === 0
      ? []
      : [
          {
            id,
            upTo: n,
            colour: "wait",
            count: String(n),
            title,
            text:
              one === null
                ? ""
                : `first${one.expiresAt === undefined ? "" : ` ${timeLeft(one.expiresAt - time)}`}: ${one.question || one.runId}`,
            to: "/inbox",
            verb: "Answer",
          },
        ];
  return [
    ...(due ?? []).map(({ workflow, due: n, since, hasWorker }): Item => ({
      id: `due ${workflow}`,
      upTo: n,
      colour: "wait",
      count: count(n),
      title: `due, and no driver takes ${n === 1 ? "it" : "them"}`,
      text: `${workflow}, the longest for ${duration(time - since)}.${hasWorker === false ? " No worker has this workflow." : ""}`,
      to: `/?${new URLSearchParams({ status: "queued", workflow }).toString()}`,
      verb: "Show",
    })),
    ...waiting("late", waits.late === 1 ? "approval is late" : "approvals are late", waits.first, waits.late),
    ...waiting(
      "soon",
      waits.soon === 1 ? "approval expires within a day" : "approvals expire within a day",
      waits.next,
      waits.soon,
    ),
    ...waiting("open", open === 1 ? "approval waits" : "approvals wait", waits.other, open),
    ...blocked.map(({ id, workflow, count: n, message, since, version, code }): Item => ({
      id: `blocked ${id}`,
      upTo: since,
      colour: "block",
      count: String(n),
      title: `blocked${version === undefined ? "" : ` in version ${version}`}: ${code}`,
      text: `${workflow}: ${message}`,
      to: `/?${new URLSearchParams({ status: "blocked", workflow }).toString()}`,
      verb: "Show",
    })),
  ];
}

function failedItems({ failures }: Attention, range: Range): Item[] {
  return (failures ?? []).map((group): Item => {
    const { id, workflow, key, count: n, first, last, message, code, cost } = group;
    const money = cost > 0 ? `, ${spent({ cost, unpriced: false })} spent` : "";
    return {
      id: `failed ${id}`,
      upTo: last,
      colour: "bad",
      count: `×${count(n)}`,
      title: message || code,
      text: `${workflow}${key === undefined ? "" : `, in ${key}`}, since ${clock(first, now.value)}, last ${duration(now.value - last)} ago${money}`,
      chart: group.parts,
      to: `/?${new URLSearchParams({ failure: id, ...(range !== "24h" && { range }) }).toString()}`,
      verb: "Show",
      group,
    };
  });
}

function Column(props: {
  readonly label: string;
  readonly items: readonly Item[];
  readonly range: Range;
  readonly onDone: () => void;
}): JSX.Element | null {
  const { label, items, range, onDone } = props;
  if (items.length === 0) return null;
  return (
    <ul aria-label={label}>
      {items.map((item) => (
        <li key={item.id} class={item.colour}>
          <b>{item.count}</b>
          <div>
            <p dir="auto">
              <strong>{item.title}</strong>
            </p>
            <p dir="auto" title={item.text}>
              {item.text}
            </p>
          </div>
          {item.chart === undefined ? <span /> : <Bars values={item.chart} />}
          <span class="acts">
            {item.group !== undefined && session.value?.readOnly === false && (
              <RetryGroup group={item.group} range={range} onDone={onDone} />
            )}
            <Link to={item.to} class="btn small" label={`${item.verb}: ${item.title}`}>
              {item.verb}
            </Link>
            <button
              type="button"
              class="icon"
              aria-label={`Acknowledge: ${item.title}`}
              title="Acknowledge: hide it for you until there is something new"
              onClick={() => acknowledge(item.id, item.upTo)}
            >
              ✓
            </button>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Asks which runs these are, and then for confirmation. */
function RetryGroup({
  group,
  range,
  onDone,
}: {
  group: FailedGroup;
  range: Range;
  onDone: () => void;
}): JSX.Element {
  const runs = useSignal<readonly string[] | null>(null);
  const ask = async (): Promise<void> => {
    try {
      const { failures } = await getAttention(range, group.id);
      runs.value = failures?.[0]?.runs ?? [];
    } catch (error) {
      say(messageOf(error), true);
    }
  };
  return (
    <>
      <button type="button" class="btn small" onClick={() => void ask()}>
        {`Retry ${count(group.count)}`}
      </button>
      {runs.value !== null && (
        <BulkDialog
          verb="Retry"
          runs={runs.value}
          act={(runId) => postAction(runId, "retry", { wait: false })}
          onClose={() => (runs.value = null)}
          onDone={onDone}
        />
      )}
    </>
  );
}
