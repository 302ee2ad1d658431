/** The children of a run: what they have used, and the pages of those that are open in the timeline. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ChildSums, RunPage } from "../../src/api.ts";
import { exported, getChildren, getRun, type KnownRun } from "./api.ts";
import { useThrottle } from "./hooks.ts";
import { say, messageOf } from "./state.ts";

export interface Children {
  readonly sums: ChildSums;
  /** By run; `null` while it is read. */
  readonly open: ReadonlyMap<string, RunPage | null>;
  readonly toggle: (runId: string) => void;
}

/** How often the sums are read, at most. */
const sumsMs = 2_000;

export function useChildren(run: RunPage): Children {
  const sums = useSignal<ChildSums>({});
  const open = useSignal<ReadonlyMap<string, KnownRun | null>>(new Map());
  const children = run.rows.filter(({ child }) => child !== undefined);
  const state = children.map(({ child, status }) => `${child} ${status}`).join();
  const read = useThrottle(async () => {
    // Without them the timeline has no sums, which it does not need.
    sums.value = await getChildren(run.runId).catch(() => sums.peek());
  }, sumsMs);
  useEffect(() => {
    if (children.length > 0 && exported === null) read();
  }, [state, run.entries]);

  const set = (runId: string, page: KnownRun | null): void => {
    open.value = new Map([...open.peek(), [runId, page]]);
  };
  const load = async (runId: string): Promise<void> => {
    try {
      const page = await getRun(runId, "", open.peek().get(runId));
      if (open.peek().has(runId)) set(runId, page);
    } catch (error) {
      say(messageOf(error), true);
      close(runId);
    }
  };
  const close = (runId: string): void => {
    const next = new Map(open.peek());
    next.delete(runId);
    open.value = next;
  };
  const going = [...open.value].flatMap(([runId, page]) => (page?.endedAt === null ? [runId] : [])).join();
  useEffect(() => {
    if (going === "" || exported !== null) return undefined;
    const timer = setInterval(() => {
      for (const runId of going.split(",")) if (!document.hidden) void load(runId);
    }, sumsMs);
    return () => clearInterval(timer);
  }, [going]);
  return {
    sums: sums.value,
    open: open.value,
    toggle: (runId) => {
      if (open.peek().has(runId)) return close(runId);
      set(runId, null);
      void load(runId);
    },
  };
}
