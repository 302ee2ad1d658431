/** Milliseconds by a clock that never goes back. At the first use of `performance`, Node loads a module for 1 ms. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
