/** The storage of a fleet, by its address: `sqlite:<path>` or `postgres://...`. All processes of a fleet share it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";

/** Where a fleet keeps its runs while a script or a test lasts. */
export interface Place {
  readonly url: string;
  /** Restarts the database, cleanly or as a crash would; missing where there is none to restart. */
  readonly restart?: (how: "fast" | "crash") => Promise<void>;
  /** Removes what was made for this place. */
  close(): Promise<void>;
}

export async function openStorage(url: string): Promise<Storage & { close(): Promise<void> }> {
  if (url.startsWith("sqlite:")) return new SqliteStorage(url.slice("sqlite:".length));
  const { PostgresStorage } = await import("@durable/postgres");
  return new PostgresStorage({ url });
}

/** The given address; a file of its own for `sqlite`, and a Postgres of its own for `postgres`. */
export async function placeOf(given: string): Promise<Place> {
  if (given === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "durable-fleet-"));
    return {
      url: `sqlite:${join(folder, "journal.db")}`,
      close: async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
    };
  }
  if (given !== "postgres") return { url: given, close: async () => {} };
  const { startPostgres } = await import("../../packages/postgres/test/support/server.ts");
  const server = await startPostgres();
  return { url: server.url, restart: (how) => server.restart(how), close: () => server.stop() };
}

/** Kilobytes of each table and index. */
export async function sizesOf(url: string): Promise<Readonly<Record<string, number>>> {
  const rows = url.startsWith("sqlite:") ? await sqliteSizes(url) : await postgresSizes(url);
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Math.round(bytes / 1024)]));
}

interface Size {
  readonly name: string;
  readonly bytes: number;
}

async function sqliteSizes(url: string): Promise<readonly Size[]> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(url.slice("sqlite:".length), { readOnly: true });
  const rows = database.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").all();
  database.close();
  return rows.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) }));
}

async function postgresSizes(url: string): Promise<readonly Size[]> {
  const { sizes } = await import("../../packages/postgres/test/support/sizes.ts");
  return sizes(url);
}
