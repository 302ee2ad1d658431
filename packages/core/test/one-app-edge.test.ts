/** One app where the platform has no default storage. Beside one-app.test.ts, because the platform is replaced. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, test, vi } from "vitest";
import { failureOf } from "./support/behaviour-lab.ts";

vi.mock("#default-storage", () => import("../src/adapters/none.ts"));

test("the first request behaves like the second, and the verbs of a workflow fail loudly", async () => {
  const flow = durable("f", async (ctx, who: string) => ctx.step("hi", () => `hi ${who}`));
  const storage = new MemoryStorage();
  const request = async (id: string): Promise<void> => {
    // As a handler on the edge does: an app for each request, with what the request brings.
    const app = createApp({ workflows: [flow], storage });
    expect(await app.run(flow, id, { id })).toMatchObject({ output: `hi ${id}` });
    for (const verb of [() => flow.run("x"), () => flow.start("x"), () => flow.list(), () => flow.cancel(id)])
      expect(await failureOf(verb())).toMatchObject({
        code: "no-storage",
        message: expect.stringContaining("app.run(flow, input)") as string,
      });
  };
  await request("a");
  await request("b");
  expect((await storage.list({ limit: 9 })).runs).toHaveLength(2);
});
