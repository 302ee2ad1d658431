/**
 * A deployment into a local folder: small, harmless and real.
 *
 *     site/staging/releases/1.1.0-k3vq...   what was deployed, one folder each
 *     site/staging/current                  a link to the one that is live
 *     site/staging/turn                     who is deploying now
 *
 * Each function here is the body of a step, so each may be cut off anywhere and run again:
 *
 * D1. What is there is looked up in one step and changed in another. A look-up after the change would find the
 *     change, and roll back to what failed.
 * D2. Folders and links appear whole, by a rename.
 * D3. One run at a time changes an environment; a turn that was left behind is taken over after a while.
 */

import { spawn, type ChildProcess } from "node:child_process";
import {
  cpSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface Health {
  readonly healthy: boolean;
  /** What was seen, in a few words. */
  readonly detail: string;
}

/** What the workflow needs of a site. */
export type Deploys = Pick<Site, "takeTurn" | "giveTurn" | "live" | "copy" | "point" | "check">;

/** Longer than any deployment takes. */
const turnMs = 10 * 60_000;
const startMs = 30_000;
const looks = 3;

export class Site {
  readonly #folder: string;
  readonly #bundle: string;

  constructor(folder: string, bundle: string) {
    this.#folder = folder;
    this.#bundle = bundle;
  }

  /** True when this run may change the environment now. */
  takeTurn(environment: string, runId: string): boolean {
    const turn = this.#path(environment, "turn");
    const aside = `${turn}.${process.pid}.${runId}`;
    writeFileSync(aside, runId);
    try {
      // A link is made whole or not at all, and only where there is none.
      linkSync(aside, turn);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
      const holder = textOf(turn);
      if (holder === null || holder.age > turnMs) rmSync(turn, { force: true });
      return holder?.text === runId;
    } finally {
      rmSync(aside, { force: true });
    }
  }

  giveTurn(environment: string, runId: string): void {
    const turn = this.#path(environment, "turn");
    if (textOf(turn)?.text === runId) rmSync(turn, { force: true });
  }

  /** The folder that is live now, by name. */
  live(environment: string): string | null {
    try {
      return basename(readlinkSync(this.#path(environment, "current")));
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
  }

  /** Copies a release to a folder of its own; `key` tells it from other deployments of the same release. */
  copy(environment: string, version: string, key: string): string {
    const name = `${version}-${key.slice(0, 8)}`;
    const folder = this.#path(environment, "releases", name);
    const aside = `${folder}.${process.pid}`;
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(aside, { recursive: true });
    cpSync(join(this.#bundle, "server.mjs"), join(aside, "server.mjs"));
    cpSync(join(this.#bundle, "releases", `${version}.json`), join(aside, "release.json"));
    rmSync(folder, { recursive: true, force: true });
    renameSync(aside, folder);
    return name;
  }

  /** Makes a folder live; `null` for none. */
  point(environment: string, name: string | null): void {
    const current = this.#path(environment, "current");
    if (name === null) return rmSync(current, { force: true });
    const aside = `${current}.${process.pid}.${name}`;
    rmSync(aside, { force: true });
    symlinkSync(join("releases", name), aside, "dir");
    renameSync(aside, current);
  }

  /** Starts what is live, asks it over HTTP how it is, and stops it. */
  async check(environment: string, version: string, signal: AbortSignal): Promise<Health> {
    const server = spawn(process.execPath, [this.#path(environment, "current", "server.mjs")], {
      env: { PATH: process.env["PATH"], PORT: "0", ENDS_WITH_INPUT: "1" },
      stdio: ["pipe", "pipe", "ignore"],
      signal,
    });
    // An abort kills it, and is told by whatever is awaited.
    server.on("error", () => {});
    try {
      const url = await addressOf(server, AbortSignal.any([signal, AbortSignal.timeout(startMs)]));
      if (url === null) return { healthy: false, detail: "it did not start" };
      let health: Health = { healthy: false, detail: "not asked" };
      for (let look = 1; look <= looks && !health.healthy; look++) {
        if (look > 1) await delay(100, undefined, { signal });
        health = await ask(`${url}/health`, version, signal);
      }
      return health;
    } finally {
      server.kill("SIGKILL");
    }
  }

  #path(environment: string, ...parts: readonly string[]): string {
    const folder = join(this.#folder, environment);
    mkdirSync(join(folder, "releases"), { recursive: true });
    return join(folder, ...parts);
  }
}

/** The release that a folder of `releases` holds. */
export function versionOf(name: string | null): string | null {
  return name?.replace(/-[^-]*$/, "") ?? null;
}

function textOf(path: string): { text: string; age: number } | null {
  try {
    return { text: readFileSync(path, "utf8"), age: Date.now() - statSync(path).mtimeMs };
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** Where a server says that it listens; `null` when it ends or does not say so in time. */
async function addressOf(server: ChildProcess, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    let out = "";
    server.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const [, url] = /listening on (\S+)\n/.exec(out) ?? [];
      if (url !== undefined) resolve(url);
    });
    server.once("close", () => resolve(null));
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

async function ask(url: string, version: string, signal: AbortSignal): Promise<Health> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) });
    const told = (await response.json()) as { version?: string; reason?: string };
    const seen = `${response.status} from /health`;
    if (!response.ok) return { healthy: false, detail: told.reason ? `${seen}, ${told.reason}` : seen };
    return { healthy: told.version === version, detail: `${seen}, version ${told.version}` };
  } catch (error) {
    signal.throwIfAborted();
    return { healthy: false, detail: `no answer from /health (${(error as Error).message})` };
  }
}
