/** The file of a run: what it contains and what it cannot do. How it looks is in page.test.ts. */

import { MemoryStorage, createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { exportRun } from "../src/index.ts";
import { Site } from "./support/ask.ts";
import { secret } from "./support/journals.ts";

const storage = new MemoryStorage();
const flow = durable("flow", async (ctx, input: object) => {
  await ctx.step("one", () => ({ mail: "ada@example.org", text: "</script><script>alert(1)</script><!--" }));
  return input;
});
const app = createApp({ storage, secret, workflows: [flow] });
await app
  .start("flow", { password: "hunter2", "ada@example.org": 1 }, { id: "r1" })
  .then((run) => run.result());

const dataOf = (html: string): Record<string, never> => {
  const text = /<script type="application\/json" id="durable-run">([^<]*)<\/script>/.exec(html)?.[1];
  return JSON.parse(text ?? "") as Record<string, never>;
};

test("is redacted unless it is told not to be", async () => {
  const hidden = await exportRun(app, "r1");
  expect(hidden).not.toMatch(/ada@example\.org|hunter2/);
  expect(dataOf(hidden)).toMatchObject({
    redacted: true,
    run: { runId: "r1", input: { password: "[redacted]" } },
  });
  const whole = await exportRun(createApp({ storage, workflows: [] }), "r1", { redact: false });
  expect(whole).toContain("ada@example.org");
  expect(dataOf(whole)).toMatchObject({ redacted: false, run: { input: { password: "hunter2" } } });
  expect(await exportRun(app, "r1", { hide: ["text"] })).not.toContain("alert(1)");
});

test("has no way out: its own script and style by hash, and no connection", async () => {
  const html = await exportRun(app, "r1");
  const policy = /http-equiv="content-security-policy" content="([^"]*)"/.exec(html)?.[1] ?? "";
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'$/,
  );
  // Text of the journal cannot end the element that holds it.
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(html).not.toContain("<!--");
  expect(dataOf(html)).toMatchObject({
    steps: { one: { value: { text: "</script><script>alert(1)</script><!--" } } },
  });
});

test("is saved, and never shown under the origin of the dashboard", async () => {
  const site = new Site({ app });
  const response = await site.fetch("/api/runs/r1/export");
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="r1.html"');
  expect(await response.text()).not.toContain("hunter2");
  expect(await (await site.fetch("/api/runs/r1/export?redact=0")).text()).toContain("hunter2");
  expect((await site.fetch("/api/runs/r1/export?redact=no")).status).toBe(400);
  await expect(exportRun(app, "nothing")).rejects.toThrow(/no run nothing/);
});

test("first words of a turn are on the page, and in no redacted file", async () => {
  const agent = durable("agent", (ctx) =>
    ctx.step("generate abcdefghijklmnop", ({ meter }) => {
      meter({ model: "m-1", inputTokens: 1, outputTokens: 1 });
      return {
        content: [{ type: "text", text: `${"Words ".repeat(12)} ada@example.org` }],
        finishReason: "stop",
      };
    }),
  );
  const own = createApp({ storage: new MemoryStorage(), secret, workflows: [agent] });
  await own.run(agent, undefined, { id: "a1" });
  const words = expect.stringMatching(/^Words Words .*ada@exa/) as string;
  const page = await new Site({ app: own }).get<{ rows: unknown[] }>("runs/a1");
  expect(page.rows).toMatchObject([{ turn: 1, model: "m-1", words }]);
  expect(dataOf(await exportRun(own, "a1", { redact: false }))).toMatchObject({ run: { rows: [{ words }] } });
  expect(await exportRun(own, "a1")).not.toContain("ada@");
});
