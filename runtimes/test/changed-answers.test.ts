/** An answer to a run whose code has changed: every surface records it, and the run is blocked until the code fits. */

import { createApp, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { Session } from "../../packages/cli/src/session.ts";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import { Project } from "../../packages/cli/test/support/lab.ts";
import { Site } from "../../packages/dashboard/test/support/ask.ts";
import { createHandler } from "../../packages/http/src/index.ts";
import { after, before, codes, type Change } from "./support/changed-codes.ts";

const secret = "SoYi7qPpiBsm1QGmyS9d0WNVnE9pYBYNZ4ZxP2VpL0g";

interface Changed {
  readonly app: App;
  readonly flow: ReturnType<typeof after>;
  readonly token: string;
  readonly tool: (app: App, args: object) => Promise<unknown>;
  readonly cli: (...args: string[]) => Promise<unknown>;
}

/** How each surface answers, and what it says of the answer. */
const surfaces: Readonly<Record<string, (on: Changed) => Promise<unknown>>> = {
  "app.resume": ({ app, token }) => app.resume(token, "yes"),
  "flow.resume": ({ flow, token }) => flow.resume(token, "yes"),
  "app.resume, without driving": ({ app, token }) => app.resume(token, "yes", { drive: false }),
  HTTP: async ({ app, token }) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"value":"yes"}' };
    const handler = createHandler(app, { authorize: () => true });
    return (await handler(new Request(`http://localhost/resume/${token}`, init))).json();
  },
  dashboard: async ({ app }) => {
    const { status } = await new Site({ app }).post("runs/r/answer", { key: "ok", value: "yes" });
    return { status: status === 200 ? "accepted" : status };
  },
  CLI: ({ cli }) => cli("--app", "app.ts"),
  "CLI --no-drive": ({ cli }) => cli("--app", "app.ts", "--no-drive"),
  "CLI without code": ({ cli }) => cli(),
  MCP: ({ app, tool }) => tool(app, { run: "r", value: "yes" }),
};

describe.each(Object.keys(codes) as Change[])("%s", (change) => {
  test.concurrent.for(Object.keys(surfaces))("%s", async (surface, { expect, onTestFinished }) => {
    const project = new Project();
    const storage = new SqliteStorage(join(project.folder, "runs.db"));
    onTestFinished(async () => {
      await storage.close();
      project.remove();
    });
    const appOf = (flow: typeof before | ReturnType<typeof after>) =>
      createApp({ storage, secret, workflows: [flow], patience: 0, bind: false });
    const old = appOf(before);
    const parked = await old.run("changes", undefined, { id: "r" });
    if (parked.status !== "suspended") throw new Error(parked.status);
    const flow = after(change);
    const app = createApp({ storage, secret, workflows: [flow], patience: 0 });
    const support = new URL("support/changed-codes.ts", import.meta.url).href;
    writeFileSync(
      join(project.folder, "app.ts"),
      `import { after } from ${JSON.stringify(support)};\nexport const flow = after(${JSON.stringify(change)});\n`,
    );
    const said = await surfaces[surface]?.({
      app,
      flow,
      token: parked.waiting[0]?.token ?? "",
      tool: async (given, args) => {
        const session = { app: given, storage, place: null, appFile: null } as unknown as Session;
        const tools = toolsOf(session, new Set(["resume"]), Date.now);
        return tools.find(({ name }) => name === "resume_run")?.call(args as never);
      },
      cli: (...args) =>
        project.json(["resume", "r", "--data", "yes", "-s", "runs.db", ...args], {
          now: Date.now(),
          env: { DURABLE_SECRET: secret },
        }),
    });
    expect(said).toMatchObject({ status: "accepted" });
    const drives = !/without|no-drive/.test(surface);
    if (!drives) await app.advance("r");
    // The page answers before the run is through.
    await expect
      .poll(() => app.get("r").outcome(), { timeout: 20_000 })
      .toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(await old.advance("r")).toMatchObject({ status: "completed", output: "yes" });
  });
});
