/** Watches for rejections that nobody handles, for as long as a test runs. */

import { onTestFinished } from "vitest";

/** Returns how to ask what was seen; asking waits until late ones would have been told. */
export function unhandled(): () => Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return async () => {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    return seen;
  };
}
