import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp, durable as define } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";
import { bin, finish, says, start } from "./support/process.ts";

let project: Project;
beforeAll(async () => {
  project = await Project.withRuns();
});
afterAll(() => project.remove());

const durable = (args: readonly string[], cwd = project.folder, env = {}) =>
  finish(start(bin, args, { cwd, env }));
// Each command is a process: some of them only in `npm run test:full`.
const full = inject("full");
const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));

test("the program ends with the exit code of its command", async () => {
  const colored = await durable(["ls"], project.folder, { FORCE_COLOR: "1" });
  expect(colored).toMatchObject({ code: 0, err: "" });
  expect(await durable(["show", "nothing"])).toMatchObject({ code: 3 });
  expect(colored.out).toContain("\u001B[31m");
});

test("tail follows a run that is driven elsewhere, and ends with it", async () => {
  const tail = start(bin, ["tail", "moon-1", "--json"], { cwd: project.folder });
  const followed = finish(tail);
  await says(tail, "suspend.opened");
  await project.cli(["resume", "moon-1", "--set", "approved=true", "--app", workflowsFile]);
  const { code, out } = await followed;
  expect(code).toBe(0);
  const kinds = out
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { v: number; entry: { kind: string } }).entry.kind);
  expect(kinds.slice(-3)).toEqual(["suspend.resolved", "step.completed", "run.completed"]);
});

test("replay --inspect stops at the workflow function, with its recorded values", async () => {
  const child = start(bin, ["replay", "tides-1", "--inspect", "--port", "0", "--app", workflowsFile], {
    cwd: project.folder,
  });
  const ended = finish(child);
  const said = await says(child, "Attach a debugger to ws://");
  const [address = ""] = /ws:\/\/\S+/.exec(said.slice(said.indexOf("Attach"))) ?? [];
  const socket = new WebSocket(address);
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  let id = 0;
  const replies = new Map<number, (result: unknown) => void>();
  const send = <T>(method: string, params = {}): Promise<T> => {
    socket.send(JSON.stringify({ id: ++id, method, params }));
    return new Promise<T>((resolve) => replies.set(id, resolve as (result: unknown) => void));
  };
  const paused = new Promise<unknown>((resolve) => {
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as {
        id?: number;
        method?: string;
        params: unknown;
        result: unknown;
      };
      if (message.method === "Debugger.paused") resolve(message.params);
      if (message.id !== undefined) replies.get(message.id)?.(message.result);
    });
  });
  await send("Runtime.enable");
  await send("Debugger.enable");
  await send("Runtime.runIfWaitingForDebugger");
  const { callFrames } = (await paused) as { callFrames: { functionName: string; callFrameId: string }[] };
  expect(callFrames.slice(0, 2).map(({ functionName }) => functionName)).toEqual(["onStart", "body"]);
  const { result } = await send<{ result: { value: unknown } }>("Debugger.evaluateOnCallFrame", {
    callFrameId: callFrames[1]?.callFrameId,
    expression: "input",
  });
  expect(result.value).toBe("tides");
  await send("Debugger.resume");
  socket.close();
  const { code, out } = await ended;
  expect(out).toContain("same  tides-1");
  expect(code).toBe(0);
});

describe("init and durable.config.mts", () => {
  test("make a project that runs, and whose app is found", async () => {
    const fresh = new Project();
    const said = await fresh.cli(["init", "my-app", "--no-install"]);
    expect(said.out).toBe(
      [
        "created  package.json",
        "created  workflows/story.mts",
        "created  durable.config.mts",
        "created  .gitignore",
        "created  .env.development",
        "",
      ].join("\n"),
    );
    const folder = join(fresh.folder, "my-app");
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({
      name: "my-app",
      type: "module",
      scripts: { dev: "node --env-file=.env.development workflows/story.mts" },
      dependencies: { "@durable/core": expect.stringMatching(/^\^/) as string },
      devDependencies: { "@durable/cli": expect.stringMatching(/^\^/) as string },
    });
    symlinkSync(modules, join(folder, "node_modules"), "junction");
    const story = await finish(start(join(folder, "workflows", "story.mts"), [], { cwd: folder }));
    expect(story, story.err).toMatchObject({ code: 0 });
    expect(story.out.match(/model:/g)).toHaveLength(4);
    if (full) {
      const again = await finish(start(join(folder, "workflows", "story.mts"), [], { cwd: folder }));
      expect(again.out).not.toContain("model:");
    }
    // The app of the project is loaded: a fork needs its code.
    expect(await durable(["fork", "demo", "--from", "write", "--id", "demo-2"], folder)).toMatchObject({
      code: 0,
    });
    if (full) {
      expect(await durable(["replay", "demo", "demo-2"], folder)).toMatchObject({ code: 0 });
      expect((await durable(["doctor"], folder)).out).toContain("Nothing is wrong.");
    }
    const twice = await fresh.cli(["init", "my-app", "--no-install"]);
    expect(twice.out.match(/^kept/gm)).toHaveLength(5);
    expect(readFileSync(join(folder, ".env.development"), "utf8")).toBe("DURABLE_PROMPTS=1\n");
    fresh.remove();
  });

  test("init works in a CommonJS project, adds no package twice, and says what it did when npm fails", async () => {
    const fresh = new Project();
    const path = join(fresh.folder, "package.json");
    const packages = { "@durable/core": "file:core.tgz", "@durable/cli": "file:cli.tgz" };
    writeFileSync(path, JSON.stringify({ type: "commonjs", dependencies: packages }));
    // There are no such files, so npm fails.
    const failed = await fresh.cli(["init"]);
    expect(failed).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        "Done before it: workflows/story.mts (created), durable.config.mts (created)",
      ) as string,
    });
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ type: "commonjs", dependencies: packages });
    expect((await fresh.cli(["init"])).err).toContain("No file was changed");
    symlinkSync(modules, join(fresh.folder, "node_modules"), "junction");
    const story = await finish(
      start(join(fresh.folder, "workflows", "story.mts"), [], { cwd: fresh.folder }),
    );
    expect(story, story.err).toMatchObject({ code: 0 });
    expect(await durable(["replay", "demo"], fresh.folder)).toMatchObject({ code: 0 });
    fresh.remove();
  });

  test("a config that cannot be loaded stops what needs code, and nothing else", async () => {
    const broken = await Project.withRuns();
    writeFileSync(join(broken.folder, "durable.config.ts"), 'throw new Error("no database today");\n');
    expect(await broken.cli(["ls"])).toMatchObject({
      code: 0,
      err: expect.stringContaining("no database today") as string,
    });
    const fork = await broken.cli(["fork", "tides-1", "--from", "plan"]);
    expect(fork).toMatchObject({ code: 1 });
    writeFileSync(join(broken.folder, "seven.ts"), "export default 7;\n");
    expect((await broken.cli(["replay", "tides-1", "--app", "seven.ts"])).err).toContain(
      "exports neither an app nor a workflow",
    );
    broken.remove();
  });
});

test("ui says how to get the dashboard, or serves it", async () => {
  const there = existsSync(join(modules, "@durable", "dashboard"));
  const child = start(bin, ["ui", "--port", "0", "--json"], { cwd: project.folder });
  if (!there) {
    expect(await finish(child)).toMatchObject({
      code: 2,
      out: expect.stringContaining("npm i -D @durable/dashboard") as string,
    });
    return;
  }
  const ended = finish(child);
  const said = await says(child, '"url"');
  const { url, origin } = JSON.parse(said.slice(said.indexOf("{"), said.indexOf("}") + 1)) as {
    url: string;
    origin: string;
  };
  expect(url).toContain("#");
  expect((await fetch(origin)).status).toBe(200);
  expect((await fetch(`${origin}/api/runs`)).status).toBe(403);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130 });
});

test("ui waits for a journal that is not there yet, and opens a browser without telling its token to others", async () => {
  const empty = new Project();
  const seen = join(empty.folder, "seen");
  const browser = join(empty.folder, "browser");
  writeFileSync(
    browser,
    `#!/bin/sh\nstat -c %a "$1" > "${seen}.tmp"; cat "$1" >> "${seen}.tmp"; mv "${seen}.tmp" "${seen}"\n`,
    { mode: 0o755 },
  );
  const child = start(bin, ["ui", "--port", "0", "--json", "--open"], {
    cwd: empty.folder,
    env: { BROWSER: browser },
  });
  const ended = finish(child);
  const said = await says(child, '"url"');
  const { url, origin } = JSON.parse(said.slice(said.indexOf("{"), said.indexOf("}") + 1)) as Record<
    "url" | "origin",
    string
  >;
  const headers = { authorization: `Bearer ${url.split("token=")[1] ?? ""}` };
  const ids = async (): Promise<string[]> => {
    const list = (await (await fetch(`${origin}/api/runs`, { headers })).json()) as {
      runs: { runId: string }[];
    };
    return list.runs.map(({ runId }) => runId);
  };
  expect(await ids()).toEqual([]);
  expect(existsSync(join(empty.folder, ".durable"))).toBe(false);
  mkdirSync(join(empty.folder, ".durable"));
  const storage = new SqliteStorage(join(empty.folder, ".durable", "journal.db"));
  await createApp({ storage, workflows: [define("hello", (ctx) => ctx.step("say", () => "hi"))] }).run(
    "hello",
    null,
    { id: "first" },
  );
  await storage.close();
  await vi.waitFor(async () => expect(await ids()).toEqual(["first"]), { timeout: 60_000 });
  await vi.waitFor(() => expect(existsSync(seen)).toBe(true), { timeout: 60_000 });
  const [mode, page] = readFileSync(seen, "utf8").split("\n");
  expect([mode, page]).toEqual(["600", expect.stringContaining(url)]);
  child.kill("SIGINT");
  await ended;
  empty.remove();
});

test("a folder without a journal gets no journal by looking", async () => {
  const empty = new Project();
  mkdirSync(join(empty.folder, "sub"));
  expect(await empty.cli(["ls"])).toMatchObject({
    code: 0,
    out: expect.stringContaining("No runs yet.") as string,
  });
  expect(await empty.cli(["show", "@last"])).toMatchObject({ code: 3 });
  expect(await empty.cli(["ls", "-s", "nowhere.db"])).toMatchObject({ code: 3 });
  expect(existsSync(join(empty.folder, ".durable"))).toBe(false);
  expect(await empty.cli(["ls", "-s", "mysql://x"])).toMatchObject({ code: 2 });
  empty.remove();
});
