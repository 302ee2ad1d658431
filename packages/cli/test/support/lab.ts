/** A project folder with a journal of real runs, made in virtual time, and the command line in this process. */

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { runCli } from "@durable/cli";
import { createApp, durable, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld } from "@durable/testing";
import { createBrief } from "../fixtures/workflows.ts";

export const workflowsFile = fileURLToPath(new URL("../fixtures/workflows.ts", import.meta.url));
export const prices = { "tide-1": { input: 3, output: 15 } };

/** The time at which the screens are looked at. */
export const noon = Date.UTC(2026, 0, 1, 12);

/** Runs in every state, in `.durable/journal.db` of the folder. */
export async function makeJournal(folder: string): Promise<void> {
  const world = virtualWorld({ start: Date.UTC(2026, 0, 1, 8) });
  const pause = (ms: number) => new Promise<void>((resolve) => void world.timer(ms, resolve));
  const path = join(folder, ".durable", "journal.db");
  mkdirSync(join(folder, ".durable"), { mode: 0o700 });
  writeFileSync(join(folder, ".durable", ".gitignore"), "*\n");
  const storage = new SqliteStorage({ path, now: () => world.now() });
  const brief = createBrief(pause);
  const old = durable("legacy", (ctx) => ctx.suspend("review", { note: "an old question" }));
  const options = { storage, world, patience: "1m" } as const;
  const app = createApp({ ...options, workflows: [brief, old] });
  const begin = async (id: string, topic: string): Promise<void> => {
    await world.run(() => brief.with(options).run(topic, { id }));
    await world.advance(3_600_000);
    await world.run(() => app.advance(id));
  };
  await begin("tides-1", "tides");
  await answer(app, "tides-1", { approved: true }, (work) => world.run(work));
  const fork = await app.get("tides-1").fork({ from: "draft#2", id: "tides-2", label: "prompt-v2" });
  await world.run(() => untilParked(app, fork.id));
  await begin("sun-1", "sun");
  await answer(app, "sun-1", { approved: false }, (work) => world.run(work));
  await begin("moon-1", "moon");
  await world.run(() => old.with(options).run(undefined, { id: "old-1" }));
  const changed = durable("legacy", (ctx) => ctx.step("just-do-it", () => "done"));
  await world.run(() => createApp({ ...options, workflows: [changed] }).advance("old-1"));
  await storage.close();
}

async function answer(
  app: App,
  id: string,
  value: unknown,
  drive: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const outcome = await app.get(id).outcome();
  const [wait] = "waiting" in outcome ? outcome.waiting : [];
  if (wait === undefined) throw new Error(`${id} is ${outcome.status}`);
  await drive(() => app.resume(wait.token, value));
}

async function untilParked(app: App, id: string): Promise<void> {
  for (;;) {
    const { status } = await app.get(id).outcome();
    if (status !== "running") return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text on stdin. */
  readonly input?: string;
  /** What a person types, line by line; makes all streams a terminal. */
  readonly types?: readonly string[];
  readonly now?: number;
  readonly signal?: AbortSignal;
}

let made: Promise<string> | null = null;

async function makeOnce(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "durable-cli-made-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await makeJournal(folder);
  return folder;
}

export class Project {
  readonly folder: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "durable-cli-"));
  }

  static async withRuns(): Promise<Project> {
    const project = new Project();
    // Made once per process, and copied.
    made ??= makeOnce();
    cpSync(await made, project.folder, { recursive: true });
    writeFileSync(join(project.folder, "prices.json"), JSON.stringify(prices));
    return project;
  }

  async cli(args: readonly string[], options: CliOptions = {}): Promise<Said> {
    let [out, err] = ["", ""];
    const isTTY = options.types !== undefined;
    const typed = options.types === undefined ? Readable.from([options.input ?? ""]) : typing(options.types);
    const code = await runCli(args, {
      stdout: { write: (text: string) => (out += text), isTTY },
      stderr: { write: (text: string) => (err += text), isTTY },
      stdin: Object.assign(typed, { isTTY }),
      env: { LANG: "C.UTF-8", NO_COLOR: "1", TZ: "UTC", ...options.env },
      cwd: this.folder,
      now: () => options.now ?? noon,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return { code, out, err };
  }

  /** The document of a command. */
  async json(args: readonly string[], options?: CliOptions): Promise<Record<string, unknown>> {
    const { out } = await this.cli([...args, "--json"], options);
    return JSON.parse(out) as Record<string, unknown>;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** One line at a time, as a person types: a prompt that is not there yet must not lose the next line. */
function typing(lines: readonly string[]): PassThrough {
  const stream = new PassThrough();
  const left = [...lines];
  const next = (): void => {
    const line = left.shift();
    if (line !== undefined) stream.write(`${line}\n`);
  };
  stream.on("newListener", (event) => event === "data" && setImmediate(next));
  stream.on("resume", () => setImmediate(next));
  return stream;
}
