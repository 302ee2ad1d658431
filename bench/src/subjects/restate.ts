/** Restate. Its server runs already; this process serves the handler and calls it through the server, as a client would. */

import { createServer, type Http2Server } from "node:http2";
import { load, Signals, type SubjectModule, type Work } from "../engine.ts";

interface Context {
  run(name: string, body: () => Promise<unknown>): Promise<unknown>;
  awakeable<T>(): { readonly id: string; readonly promise: Promise<T> };
}
interface Sdk {
  readonly service: (definition: {
    name: string;
    handlers: Record<string, (ctx: Context, work: Work) => Promise<void>>;
  }) => unknown;
  readonly RestatePromise: { all(promises: readonly Promise<unknown>[]): Promise<unknown> };
  readonly createEndpointHandler: (options: { services: unknown[] }) => Parameters<typeof createServer>[1];
}

const name = "bench";

export const open: SubjectModule["open"] = async ({ port, server: [ingress = "", admin = ""] }, marks) => {
  const { service, createEndpointHandler, RestatePromise } = await load<Sdk>("@restatedev/restate-sdk");
  const waiting = new Map<string, string>();
  const asked = new Signals();
  const bench = service({
    name,
    handlers: {
      work: async (ctx, { id, steps, parallel, wait }) => {
        marks.begin();
        const step = (i: number): Promise<unknown> => ctx.run(`step-${i}`, async () => i);
        if (parallel === true) await RestatePromise.all(Array.from({ length: steps }, (_, i) => step(i)));
        else for (let i = 0; i < steps; i++) await step(i);
        marks.end();
        if (wait !== true) return;
        const answer = ctx.awakeable<boolean>();
        waiting.set(id, answer.id);
        asked.fire(id);
        await answer.promise;
        await ctx.run("after", async () => marks.body());
      },
    },
  });
  const endpoint: Http2Server = createServer(createEndpointHandler({ services: [bench] }) ?? (() => {}));
  await new Promise<void>((resolve) => endpoint.listen(port, "127.0.0.1", () => resolve()));
  await register(admin, port);
  const send = async (path: string, body: unknown): Promise<void> => {
    const reply = await fetch(`${ingress}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(`${path} was answered with ${reply.status}: ${await reply.text()}`);
    await reply.arrayBuffer();
  };
  return {
    run: (work) => send(`${name}/work`, work),
    wait: async (work) => {
      const ready = asked.wait(work.id);
      await send(`${name}/work/send`, { ...work, wait: true });
      await ready;
      const token = waiting.get(work.id) ?? "";
      waiting.delete(work.id);
      return token;
    },
    answer: (token) => send(`restate/awakeables/${token}/resolve`, true),
    close: async () => {
      // Runs that wait keep their connections open, and the process ends anyway.
    },
  };
};

/** Nothing happens when a process before has registered the same address. */
async function register(admin: string, port: number): Promise<void> {
  const known = await fetch(`${admin}/services/${name}`);
  await known.arrayBuffer();
  if (known.ok) return;
  const reply = await fetch(`${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  });
  if (!reply.ok) throw new Error(`The deployment was refused: ${await reply.text()}`);
}
