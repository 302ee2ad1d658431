/** Time as the demos spend it: a factor on every delay that is only there to be lifelike. */

/** `DEMO_PACE`: 1 is lifelike, 0.1 ten times as fast, 0 waits for nothing. */
export function paceOf(value: string | undefined): number {
  const pace = value === undefined || value === "" ? 1 : Number(value);
  if (Number.isFinite(pace) && pace >= 0) return pace;
  throw new RangeError(`DEMO_PACE is "${value}". Use a number from 0: 1 is lifelike, 0 waits for nothing.`);
}

/** Waits, unless told to stop. Nothing to wait for takes no timer at all. */
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
