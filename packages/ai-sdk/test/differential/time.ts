/**
 * Time-outs that pass when a test says so. A time of exactly `soon` is over when `timePasses` is called; all other
 * times are left to the clock of the machine, which is slower on some days than on others.
 */

/** Used as the milliseconds of a time-out. */
export const soon = 86_399_000;

const waiting = new Map<object, () => void>();
const { setTimeout: realSet, clearTimeout: realClear } = globalThis;

function set(work: () => void, ms?: number): object {
  if (ms !== soon) return realSet(work, ms);
  const handle = { ref: () => handle, unref: () => handle };
  waiting.set(handle, work);
  return handle;
}

function clear(handle: object): void {
  if (!waiting.delete(handle)) realClear(handle as never);
}

/** To be put in the place of the globals of these names. */
export const heldTime = { setTimeout: set, clearTimeout: clear };

/** The same for signals. Returns how to undo it. */
export function holdSignals(): () => void {
  const real = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    if (ms !== soon) return real(ms);
    const abort = new AbortController();
    set(() => abort.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return abort.signal;
  };
  return () => {
    AbortSignal.timeout = real;
  };
}

/** Once everything that needs no outside has happened, all times of `soon` are over. */
export function timePasses(): void {
  void settled().then(() => {
    for (const [handle, work] of waiting) {
      waiting.delete(handle);
      work();
    }
  });
}

/** Enough turns of the event loop for all that is under way in this process. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 25; turns++) await new Promise((resolve) => setImmediate(resolve));
}
