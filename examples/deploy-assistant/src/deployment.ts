/**
 * A deployment into a local folder: small, harmless and real.
 *
 *     site/staging/releases/1.1.0-k3vq...   what was deployed, one folder each
 *     site/staging/current                  a link to the live one
 *     site/staging/turn                     a link that names the run that is deploying now
 *
 * Each function here is the body of a step, so each may be interrupted anywhere and run again:
 *
 * D1. The live release is read in one step and changed in another. Reading after the change would find the change, and
 *     a rollback would go to the failed release.
 * D2. Folders and links appear complete, by a rename.
 * D3. One run at a time changes an environment; an abandoned turn is taken over after a while.
 */

import { spawn } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
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
    try {
      // A link is created atomically with its text, and fails if one exists.
      symlinkSync(runId, turn);
      return true;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      const since = lstatSync(turn, { throwIfNoEntry: false })?.mtimeMs;
      const holder = linkIn(turn);
      if (since !== undefined && Date.now() - since > turnMs) rmSync(turn, { force: true });
      return holder === runId;
    }
  }

  giveTurn(environment: string, runId: string): void {
    const turn = this.#path(environment, "turn");
    if (linkIn(turn) === runId) rmSync(turn, { force: true });
  }

  /** The name of the live folder. */
  live(environment: string): string | null {
    return linkIn(this.#path(environment, "current"));
  }

  /** Copies a release to its own folder; `key` distinguishes deployments of the same release. */
  copy(environment: string, version: string, key: string): string {
    const name = `${version}-${key.slice(0, 8)}`;
    const folder = this.#path(environment, "releases", name);
    const aside = `${folder}.${process.pid}`;
    rmSync(aside, { recursive: true, force: true });
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
    const soon = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
    const server = spawn(process.execPath, [this.#path(environment, "current", "server.mjs")], {
      env: { PATH: process.env["PATH"], PORT: "0", ENDS_WITH_INPUT: "1" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    // Without it there is no output either.
    server.on("error", () => {});
    try {
      for await (const line of createInterface({ input: server.stdout, signal: soon })) {
        const [, url] = /listening on (\S+)/.exec(line) ?? [];
        if (url !== undefined) return await health(`${url}/health`, version, signal);
      }
      return { healthy: false, detail: "it did not start" };
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

function linkIn(path: string): string | null {
  try {
    return basename(readlinkSync(path));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

/** Asks up to three times, because a server that has just started may be slow. */
async function health(url: string, version: string, signal: AbortSignal): Promise<Health> {
  let found: Health = { healthy: false, detail: "not asked" };
  for (let look = 1; look <= 3 && !found.healthy; look++) {
    if (look > 1) await delay(100, undefined, { signal });
    try {
      const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) });
      const reply = (await response.json()) as { readonly version?: string; readonly reason?: string };
      const what = response.ok ? `version ${reply.version}` : (reply.reason ?? "without a reason");
      const detail = `${response.status} from /health, ${what}`;
      found = { healthy: response.ok && reply.version === version, detail };
    } catch (error) {
      signal.throwIfAborted();
      found = { healthy: false, detail: `no answer from /health (${(error as Error).message})` };
    }
  }
  return found;
}
