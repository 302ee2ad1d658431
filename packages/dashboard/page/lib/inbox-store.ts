/**
 * What is loaded of the inbox, and the question that is open.
 *
 * inbox-page.1. The open question stays the one that was asked for, until its reader answers it or goes to another.
 * inbox-page.2. A change reads again all that is loaded, not the first page alone.
 */

import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Inbox, InboxItem } from "../../src/api.ts";
import { getInbox, getRuns, watch } from "./api.ts";
import { useThrottle } from "./hooks.ts";
import { queryOf, setQuery } from "./router.ts";
import { messageOf, waiting } from "./state.ts";

const pageSize = 100;
/** As many pages as the server reads at once. Those after them are read one by one. */
const mostAtOnce = 10;

/** A part of the inbox, with the search that it was read for. */
export type Loaded = Inbox & { readonly q: string };

export interface InboxState {
  readonly page: ReadonlySignal<Loaded | null>;
  readonly error: ReadonlySignal<string | null>;
  /** Reads all that is loaded again, or one page more. */
  readonly load: (isMore?: boolean) => Promise<void>;
}

export function useInbox(q: string): InboxState {
  const page = useSignal<Loaded | null>(null);
  const error = useSignal<string | null>(null);
  const state = useRef({ q, pages: 1, turn: 0 }).current;
  const load = async (isMore = false): Promise<void> => {
    const own = ++state.turn;
    const { q: search } = state;
    const before = page.peek()?.q === search ? page.peek() : null;
    // A page more is a part of every read from now on, so that none that overtakes this one drops it.
    const pages = (state.pages = Math.min(state.pages + (isMore ? 1 : 0), mostAtOnce));
    const cursor = isMore && pages === mostAtOnce ? (before?.next ?? null) : null;
    try {
      const limit = cursor === null ? pages * pageSize : pageSize;
      const found = await getInbox({ q: search, cursor, limit: String(limit) });
      // A search that was overtaken does not count.
      if (own !== state.turn) return;
      page.value = { ...(cursor === null ? found : joined(before, found)), q: search };
      error.value = null;
      waiting.value = found.open;
    } catch (problem) {
      error.value = messageOf(problem);
    }
  };
  const reload = useThrottle(() => load(), 1_000);
  useEffect(() => {
    Object.assign(state, { q, pages: 1 });
    void load();
  }, [q]);
  useEffect(() => watch(null, reload), []);
  return { page, error, load };
}

/** A run may have moved from one page to the next in between. */
function joined(before: Inbox | null, next: Inbox): Inbox {
  const known = new Set(before?.items.map(({ runId }) => runId));
  return {
    ...next,
    items: [...(before?.items ?? []), ...next.items.filter(({ runId }) => !known.has(runId))],
    unreadable: [...(before?.unreadable ?? []), ...next.unreadable],
  };
}

export interface OpenQuestion {
  /** `null` while it is read, and where there is nothing to decide. */
  readonly item: InboxItem | null;
  /** A run that was asked for and is not there. */
  readonly unknown: string | null;
  /** Opens the question of this run; without one, the first of the list. */
  readonly choose: (runId: string | null) => void;
  /** These runs got their answers here, so that the list may go on to the next. */
  readonly answered: (runIds: readonly string[]) => void;
}

/** Kept between two drawings: what is open does not depend on what the list has now. */
interface Held {
  /** The first of the list, where no run was asked for, with the search that the list is of. */
  first: { readonly q: string; readonly runId: string } | null;
  last: InboxItem | null;
  readonly mine: Set<string>;
}

export function useOpenQuestion(page: Loaded | null, q: string): OpenQuestion {
  const held = useRef<Held>({ first: null, last: null, mine: new Set() }).current;
  const asked = queryOf("run");
  const items = page?.items ?? [];
  const isCurrent = page?.q === q;
  if (held.first?.q !== q && isCurrent) held.first = null;
  let wanted = asked || (held.first?.runId ?? "");
  let item = items.find(({ runId }) => runId === wanted) ?? null;
  const done = item === null && held.mine.has(wanted) && isCurrent ? wanted : "";
  if (wanted === "" || done !== "") {
    item = isCurrent ? (items[0] ?? null) : held.last;
    wanted = item?.runId ?? "";
    if (isCurrent) held.first = item === null ? null : { q, runId: item.runId };
  }
  useEffect(() => {
    if (done === "") return;
    held.mine.delete(done);
    setQuery({ run: null, key: null });
  }, [done]);
  const alone = useAlone(page !== null && item === null ? wanted : "", page);
  const { value } = alone;
  if (item === null && value !== null && value.runId === wanted) item = value.item;
  held.last = item;
  return {
    item,
    unknown: item === null && value !== null && value.runId === wanted ? wanted : null,
    choose: (runId) => {
      held.first = null;
      setQuery({ run: runId, key: null });
    },
    answered: (runIds) => runIds.forEach((runId) => held.mine.add(runId)),
  };
}

interface Alone {
  readonly runId: string;
  /** `null` where there is no such run. */
  readonly item: InboxItem | null;
}

/** A run that the list does not have: it waits further down, waits no longer, or does not fit the search. */
function useAlone(runId: string, page: Loaded | null): Signal<Alone | null> {
  const found = useSignal<Alone | null>(null);
  useEffect(() => {
    if (runId === "") return;
    let isOver = false;
    void getRuns({ ids: runId }).then(
      ({ runs: [run] }) => {
        if (isOver) return;
        found.value = {
          runId,
          item:
            run === undefined
              ? null
              : {
                  runId,
                  workflow: run.workflow,
                  label: run.label,
                  tags: run.tags ?? {},
                  question: run.waits?.question ?? "",
                  count: run.waits?.count ?? 0,
                  since: run.updatedAt,
                  expiresAt: run.waits?.expiresAt ?? null,
                },
        };
      },
      () => {},
    );
    return () => void (isOver = true);
  }, [runId, page]);
  return found;
}
