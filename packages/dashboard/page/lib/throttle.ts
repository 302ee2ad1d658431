/**
 * Bounds how often something is done. Proven in test/live-bound.test.ts.
 *
 * throttle.1. What is asked for after a pause is done at once. What is asked for sooner is done once, when the time since the last
 *     one is over: so a read that came before a change delays the next one by no more than the server takes to notice the change.
 */

export interface Throttle {
  readonly call: () => void;
  readonly stop: () => void;
}

export function throttled(act: () => unknown, ms: () => number): Throttle {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = -Infinity;
  const fire = (): void => {
    timer = undefined;
    last = performance.now();
    act();
  };
  return {
    call: () => (timer ??= setTimeout(fire, Math.max(0, last + ms() - performance.now()))),
    stop: () => clearTimeout(timer),
  };
}
