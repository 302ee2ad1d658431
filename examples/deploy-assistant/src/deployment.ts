/**
 * A deployment into a local folder: small, harmless and real.
 *
 *     site/staging/releases/1.1.0-k3vq...   what was deployed, one folder each
 *     site/staging/current                  a link to the live one
 *     site/staging/turn                     the run that is deploying now
 *
 * Each function here is the body of a step, so each may be interrupted anywhere and run again:
 *
 * D1. The live release is read in one step and changed in another. Reading after the change would find the
 *     change, and a rollback would go to the failed release.
 * D2. Folders and links appear complete, by a rename.
 * D3. One run at a time changes an environment; an abandoned turn is taken over after a while.
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
  /** What the check found, in a few words. */
  readonly detail: string;
}

/** The methods of a site that the workflow uses. */
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
      // A link is created atomically, and fails if one exists.
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

  /** The name of the live folder. */
  live(environment: string): string | null {
    try {
      return basename(readlinkSync(this.#path(environment, "current")));
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
  }

  /** Copies a release to its own folder; `key` distinguishes deployments of the same release. */
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

  /** Starts the live release, checks it over HTTP, and stops it. */
  async check(environment: string, version: string, signal: AbortSignal): Promise<Health> {
    const server = spawn(process.execPath, [this.#path(environment, "current", "server.mjs")], {
      env: { PATH: process.env["PATH"], PORT: "0", ENDS_WITH_INPUT: "1" },
      stdio: ["pipe", "pipe", "ignore"],
      signal,
    });
    // An abort kills it; the awaited call reports the error.
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

/** The release in a folder of `releases`. */
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

/** The address that a server prints; `null` when it ends or prints none in time. */
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
    const reply = (await response.json()) as { version?: string; reason?: string };
    const seen = `${response.status} from /health`;
    if (!response.ok) return { healthy: false, detail: reply.reason ? `${seen}, ${reply.reason}` : seen };
    return { healthy: reply.version === version, detail: `${seen}, version ${reply.version}` };
  } catch (error) {
    signal.throwIfAborted();
    return { healthy: false, detail: `no answer from /health (${(error as Error).message})` };
  }
}
