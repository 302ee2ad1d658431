/** Runs in Durable Objects, one object for each name in the path: they sleep, wait and retry, and only alarms wake them. */

import { createApp, durable } from "@durable/core";
import { runsObject } from "../../src/index.ts";

/** Sleeps, fails twice, then asks a question that nobody answers. */
const nap = durable("nap", async (ctx, { sleep, retry }: { sleep: string; retry: string }) => {
  const begun = await ctx.step("begin", () => Date.now());
  await ctx.sleep(sleep as `${number}s`);
  const woken = await ctx.step("wake", () => Date.now());
  const tried = await ctx.step(
    "try",
    ({ attempt }) => {
      if (attempt < 3) throw new Error(`attempt ${attempt} fails`);
      return Date.now();
    },
    { retry: { attempts: 3, delay: retry as `${number}s`, factor: 1, jitter: false } as never },
  );
  const answer = await ctx.suspend<string>("ask", { timeout: "1s" }).catch(() => "nobody answered");
  return { slept: woken - begun, retried: tried - woken, answer };
});

/** Dies in the middle of a step. */
const stuck = durable("stuck", async (ctx) => {
  await ctx.step("before", () => 1);
  await ctx.step("during", () => new Promise((resolve) => void setTimeout(resolve, 3_000)));
  return "done";
});

interface Env {
  readonly RUNS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

export const Runs = runsObject<Env>({
  lease: "3s",
  app: (host) => createApp({ ...host, secret: "a secret for tests, of no worth", workflows: [nap, stuck] }),
  async fetch(app, request) {
    const [, , verb, id = ""] = new URL(request.url).pathname.split("/");
    if (verb === "start") {
      const { workflow, input } = (await request.json()) as { workflow: string; input: never };
      await app.start(workflow, input, { id });
      return Response.json(null);
    }
    const { runs } = await app.list();
    const kinds = (await app.get(id).entries()).map(({ kind }) => kind);
    return Response.json({
      outcome: await app.get(id).outcome(),
      runs: runs.map(({ runId }) => runId),
      kinds,
    });
  },
});

const handler = {
  fetch(request: Request, { RUNS }: Env): Promise<Response> {
    const [, name = ""] = new URL(request.url).pathname.split("/");
    return RUNS.get(RUNS.idFromName(name)).fetch(request);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
