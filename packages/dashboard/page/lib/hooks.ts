/** How views load data and listen to keys. */

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { messageOf } from "./state.ts";
import { type Throttle, throttled } from "./throttle.ts";

export interface Loaded<T> {
  readonly value: T | null;
  readonly error: string | null;
}

/** Loads again whenever `key` changes or `reload` is called. While it loads again, the old value stays. */
export function useLoad<T>(
  key: string,
  load: () => Promise<T>,
): { data: Signal<Loaded<T>>; reload: () => Promise<void> } {
  const data = useSignal<Loaded<T>>({ value: null, error: null });
  const latest = useRef({ key: "", load, turn: 0 });
  latest.current.load = load;
  const run = async (): Promise<void> => {
    const turn = ++latest.current.turn;
    const result = await latest.current.load().then(
      (value): Loaded<T> => ({ value, error: null }),
      (error: unknown): Loaded<T> => ({ value: data.peek().value, error: messageOf(error) }),
    );
    // An answer that was overtaken does not count.
    if (turn === latest.current.turn) data.value = result;
  };
  useEffect(() => {
    if (latest.current.key !== key) data.value = { value: null, error: null };
    latest.current.key = key;
    void run();
  }, [key]);
  return { data, reload: run };
}

/** Calls `act` at most once per `ms`, and again after the last call. */
export function useThrottle(act: () => unknown, ms: number): () => void {
  const latest = useRef({ act, ms });
  latest.current = { act, ms };
  const throttle = useRef<Throttle | null>(null);
  throttle.current ??= throttled(
    () => latest.current.act(),
    () => latest.current.ms,
  );
  useEffect(() => () => throttle.current?.stop(), []);
  return throttle.current.call;
}

/** Keys of a view. They are ignored while the user types or a dialog is open. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Before the view is seen: whoever sees it may press a key, which an effect after the paint would miss.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const act = latest.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
