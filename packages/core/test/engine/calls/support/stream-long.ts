/** A stream that takes its time; each of its chunks names the life of the program that made it. */

import { durable, type Storage, type Workflow } from "../../../../src/index.ts";

export interface Life {
  readonly life: string;
  readonly count: number;
}

export const wordOf = (life: string, n: number): string => `${life} ${n}`;

export function longFlow(storage: Storage, { life, count }: Life): Workflow<unknown, string[]> {
  return durable(
    "long-stream",
    (ctx) =>
      ctx.stream("words", async function* () {
        for (let n = 0; n < count; n++) {
          yield wordOf(life, n);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }),
    { storage },
  );
}
