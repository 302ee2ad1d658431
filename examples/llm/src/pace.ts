/**
 * The pace of the demos: a factor on every delay that only makes them lifelike. Proven in
 * test/scripted.test.ts.
 */

/** `DEMO_PACE`: 1 is lifelike, 0.1 ten times as fast, 0 without delays. */
export function paceOf(value: string | undefined): number {
  const pace = value === undefined || value === "" ? 1 : Number(value);
  if (Number.isFinite(pace) && pace >= 0) return pace;
  throw new RangeError(`DEMO_PACE is "${value}". Use a number from 0: 1 is lifelike, 0 waits for nothing.`);
}

/** Waits, unless aborted. A wait of 0 uses no timer. */
export async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
