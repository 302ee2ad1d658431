/** One small workflow on a bucket, and what a runtime is asked to do with it. Nothing here knows which runtime it is. */

import { durable, type Outcome } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";

export type Asked =
  | { readonly type: "start"; readonly id: string; readonly topic: string }
  | { readonly type: "resume"; readonly id: string; readonly token: string; readonly answer: number };

export interface Told {
  /** As the runtime names itself. */
  readonly runtime: string;
  readonly outcome: Outcome<string>;
  /** The bodies that ran here, in their order. */
  readonly bodies: readonly string[];
}

export async function play(bucket: Bucket, asked: Asked): Promise<Told> {
  const runtime = navigator.userAgent;
  const bodies: string[] = [];
  const note = <T>(name: string, value: T): T => {
    bodies.push(name);
    return value;
  };
  const story = durable(
    "story",
    async (ctx, topic: string) => {
      // Values that plain JSON would lose, so that each runtime reads what another one wrote.
      const plan = await ctx.step("plan", () => note("plan", new Map([["topic", `${topic} on ${runtime}`]])));
      const { head, tail } = await ctx.parallel({
        head: (c) => c.step("head", () => note("head", 40n)),
        tail: (c) => c.step("tail", () => note("tail", new Date(1_000))),
      });
      await ctx.sleep(5);
      const answer = await ctx.suspend<number>("approve");
      return ctx.step("publish", () =>
        note("publish", `${plan.get("topic")}, ${head + BigInt(answer)}, ${tail.getTime()} on ${runtime}`),
      );
    },
    { storage: new RemoteStorage(bucket), secret: "a secret for tests, of no worth" },
  );
  if (asked.type === "start") await story.run(asked.topic, { id: asked.id });
  else await story.resume(asked.token, asked.answer);
  return { runtime, outcome: await story.get(asked.id).outcome(), bodies };
}
