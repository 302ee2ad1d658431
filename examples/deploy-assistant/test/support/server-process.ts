/** The server as a user starts it: a process of its own, with a journal that others may share. */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { createApp, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where the journal, the outbox and the site of one test are, until it is removed. */
export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "deploy-assistant-"));
  readonly outbox = join(this.folder, "outbox");
  #storage: SqliteStorage | null = null;

  /** The journal, read as any other process would. */
  get app(): App {
    this.#storage ??= new SqliteStorage(join(this.folder, "journal.db"));
    return createApp({ storage: this.#storage, workflows: [] });
  }

  /** Names of the mails, in order. */
  mails(): string[] {
    if (!existsSync(this.outbox)) return [];
    return readdirSync(this.outbox)
      .filter((file) => !file.startsWith("."))
      .toSorted();
  }

  /** The mails, once there is one whose name ends like this. */
  async mail(end: string): Promise<string> {
    for (;;) {
      const found = this.mails().findLast((file) => file.endsWith(end));
      if (found !== undefined) return readFileSync(join(this.outbox, found), "utf8");
      await delay(20);
    }
  }

  async remove(): Promise<void> {
    await this.#storage?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

const living = new Set<ChildProcess>();

export class ServerProcess {
  readonly ended: Promise<Ended>;
  readonly #process: ChildProcess;
  #out = "";
  #over = false;
  #tell: () => void = () => {};

  constructor(place: Place, env: Readonly<Record<string, string>> = {}, file = "../../src/main.ts") {
    const child = spawn(process.execPath, ["--import", "example-llm/sources", here(file)], {
      cwd: here("../.."),
      // Nothing of the developer's environment but what it takes to run: their keys are no business of a test.
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: here("../../../../node_modules/.cache/node-compile"),
        DURABLE_DIR: place.folder,
        DEMO_PACE: "0",
        PORT: "0",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    living.add(child);
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      this.#out += chunk.toString();
      this.#tell();
    });
    this.ended = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        living.delete(child);
        this.#over = true;
        this.#tell();
        resolve({ code, signal, out: this.#out, err });
      });
    });
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    for (;;) {
      const [, url] = /^webhook +(\S+)\/webhook$/m.exec(this.#out) ?? [];
      if (url !== undefined) return url;
      if (this.#over) throw new Error(`The server did not start: ${JSON.stringify(await this.ended)}`);
      await new Promise<void>((resolve) => (this.#tell = resolve));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** As `kill -9` does it. */
  async kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return this.ended;
  }
}

/** Ends whatever a test left behind. */
export function killServers(): void {
  for (const child of living) child.kill("SIGKILL");
}
