/** A workflow that two processes can both get hold of. What each of them does, it says. */

import { existsSync, writeSync } from "node:fs";
import { durable, type Workflow } from "../../../../src/index.ts";
import type { HostOptions } from "../../../../src/types.ts";

/** Where a process stops until the file `go` exists; `nowhere` for one that is in no way hindered. */
export type Place = "step" | "between" | "end" | "nowhere";

export const takenRun = "taken";

function say(text: string): void {
  writeSync(1, `${text}\n`);
}

export function takeoverFlow(
  name: string,
  place: Place,
  options: HostOptions & { readonly go: string },
): Workflow<number, string[]> {
  const { go, ...host } = options;
  const hold = (): void => {
    say("held");
    while (!existsSync(go)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  };
  return durable(
    "takeover",
    async (ctx, sleepMs: number) => {
      const step = (key: string): Promise<string> =>
        ctx.step(key, () => {
          say(`ran ${key}`);
          if (place === "step" && key === "slow") hold();
          return `${key} by ${name}`;
        });
      const first = await step("first");
      if (place === "between") hold();
      const slow = await step("slow");
      await ctx.sleep(sleepMs);
      const last = await step("last");
      if (place === "end") hold();
      return [first, slow, last, `end by ${name}`];
    },
    host,
  );
}
