/** Lists: by status, workflow, parent, time and tags. */

import { durable } from "@durable/core";
import { expect } from "vitest";
import type { Feature } from "./feature.ts";
import { refuses } from "./lab.ts";

const ask = durable(
  "ask",
  async (ctx, input: unknown) => `${String(input)} ${await ctx.suspend<string>("go")}`,
);
const quick = durable("quick", (ctx, input: unknown) => ctx.step("work", () => input));
const parent = durable("parent", (ctx, input: unknown) => ctx.child(quick, input));

export const lists: Feature = {
  name: "Lists",
  page: "guides/operate/finding-runs.md",
  programs: {
    "runs are listed newest first, in pages, by status, workflow and parent": async (lab) => {
      const app = lab.app([ask, quick, parent]);
      for (const [n, workflow] of ["quick", "ask", "parent", "quick"].entries()) {
        await lab.run((await lab.run(app.start(workflow, n, { id: `r${n}` }))).result().catch(() => {}));
        await lab.pass(1_000);
      }
      const of = async (query: Parameters<typeof app.list>[0]): Promise<string[]> =>
        (await lab.list(app, query)).map(({ runId }) => runId);
      expect((await of({})).filter((id) => /^r\d$/.test(id))).toEqual(["r3", "r2", "r1", "r0"]);
      expect(await of({ workflow: "quick", status: "completed" })).toHaveLength(3);
      expect(await of({ status: "suspended" })).toEqual(["r1"]);
      const [child] = await lab.list(app, { parent: "r2" });
      expect(child).toMatchObject({ workflow: "quick", parent: "r2", status: "completed" });
      const pages: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await lab.run(app.list({ workflow: ["quick", "ask"], limit: 2, cursor }));
        pages.push(...page.runs.map(({ runId }) => runId));
        cursor = page.next;
      }
      expect(pages).toEqual(["r3", child?.runId, "r1", "r0"]);
    },
    "runs that want a driver are listed as due": async (lab) => {
      const app = lab.app([quick]);
      await lab.run(app.start("quick", 1, { id: "now", drive: false }));
      await lab.run(app.start("quick", 1, { id: "later", delay: "1 hour", drive: false }));
      const due = (): Promise<string[]> => lab.ids(app, { dueAt: lab.world.now() });
      expect(await due()).toEqual(["now"]);
      await lab.run(app.advance("now"));
      expect(await due()).toEqual([]);
      await lab.pass(3_600_000);
      expect(await due()).toEqual(["later"]);
    },
    "what a run shows of itself is listed with it": async (lab) => {
      const flow = durable("report", async (ctx) => {
        ctx.report({ done: 1, of: 2 });
        await ctx.suspend("go");
      });
      const app = lab.app([flow]);
      await lab.run(app.start("report", undefined, { id: "r" }));
      lab.worker(app);
      await lab.until("it waits", async () => (await lab.statuses(app))["suspended"]);
      expect(await lab.list(app)).toMatchObject([{ runId: "r", report: { done: 1, of: 2 } }]);
    },
  },
};

export const tags: Feature = {
  name: "Tags and search",
  page: "guides/operate/finding-runs.md",
  needs: "finds",
  programs: {
    "runs are found by the tags that they have now": async (lab) => {
      const flow = durable(
        "order",
        async (ctx, customer: string) => {
          ctx.tag({ stage: "review", first: null });
          await ctx.suspend("go");
          return customer;
        },
        { tags: (customer) => ({ customer, first: "yes" }) },
      );
      const app = lab.app([flow]);
      for (const [n, customer] of ["ann", "bob", "ann"].entries())
        await lab.run(app.start("order", customer, { id: `r${n}`, tags: { n: String(n) }, drive: false }));
      expect(await lab.ids(app, { tags: { customer: "ann", first: "yes" } })).toEqual(["r0", "r2"]);
      lab.worker(app);
      await lab.until("all wait", async () => (await lab.statuses(app))["suspended"] === 3);
      expect(await lab.ids(app, { tags: { customer: "ann", stage: "review" } })).toEqual(["r0", "r2"]);
      expect(await lab.ids(app, { tags: { first: "yes" } })).toEqual([]);
      expect(await lab.ids(app, { tags: { stage: "review", n: "1" } })).toEqual(["r1"]);
      await lab.run(app.delete("r1"));
      expect(await lab.ids(app, { tags: { stage: "review" } })).toEqual(["r0", "r2"]);
    },
    "runs are found by version, time and the beginning of a text": async (lab) => {
      for (const version of ["1", "2"]) {
        const app = lab.app([quick.with({ version })]);
        await lab.run(app.start("quick", 1, { id: `of-${version}`, tags: { city: `Oslo ${version}` } }));
        await lab.pass(60_000);
      }
      const app = lab.app([quick]);
      const later = lab.world.now() - 60_000;
      expect(await lab.ids(app, { version: "2" })).toEqual(["of-2"]);
      expect(await lab.ids(app, { createdAfter: later })).toEqual(["of-2"]);
      expect(await lab.ids(app, { createdBefore: later })).toEqual(["of-1"]);
      expect(await lab.ids(app, { q: "Oslo" })).toEqual(["of-1", "of-2"]);
      expect(await lab.ids(app, { q: "of-1" })).toEqual(["of-1"]);
    },
  },
  without: async (lab) => {
    const app = lab.app([quick]);
    await lab.run(app.start("quick", 1, { id: "r", tags: { of: "ann" } }));
    for (const query of [{ tags: { of: "ann" } }, { version: "1" }, { createdAfter: 1 }, { q: "r" }])
      await refuses(() => app.list(query), /cannot list runs by any of: tags version createdAfter/);
  },
};
