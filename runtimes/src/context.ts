/** What the code of a run sees of an `AsyncLocalStorage`. Nothing here knows which runtime it is. */

import { AsyncLocalStorage } from "node:async_hooks";
import { durable, MemoryStorage, type Context } from "@durable/core";

const als = new AsyncLocalStorage<string>();
const here = (): string => als.getStore() ?? "nothing";

async function body(ctx: Context): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = { body: here(), step: await ctx.step("step", here) };
  seen["after"] = here();
  seen["called"] = await als.run("inner", () =>
    ctx.step(
      "called",
      ({ attempt }) => {
        if (attempt === 1) throw new Error("again");
        return `${here()}, attempt ${attempt}`;
      },
      { retry: { attempts: 2, delay: 1 } },
    ),
  );
  seen["stream"] = await als.run("inner", () =>
    ctx.stream("stream", async function* () {
      yield here();
      await new Promise((resolve) => setTimeout(resolve, 1));
      yield here();
    }),
  );
  seen["branches"] = await als.run("inner", () =>
    ctx.map(["a", "b"], (c) => c.step("s", here), { concurrency: 1 }),
  );
  seen["misuse"] = await ctx
    .step("misuse", () => ctx.step("within", () => 1), { retry: { attempts: 3, delay: 1 } })
    .catch((error: Error & { cause?: { code?: string } }) => error.cause?.code);
  return seen;
}

/** Where the code ran, and what it saw there. */
export async function look(): Promise<{ readonly runtime: string; readonly seen: unknown }> {
  const flow = durable("context", body, { storage: new MemoryStorage() });
  const outcome = await als.run("outer", () => flow.run());
  const seen = outcome.status === "completed" ? outcome.output : outcome;
  return { runtime: navigator.userAgent, seen };
}
