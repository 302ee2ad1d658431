/** Fresh data for each measurement: a folder, a database, and servers on loopback where a subject needs them. */

import { readdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startPostgres, type PostgresServer } from "../../packages/postgres/test/support/server.ts";
import type { Subject } from "./catalog.ts";
import type { Place } from "./engine.ts";
import { connect } from "./pg-client.ts";
import { startRestate, type RestateServer } from "./restate-server.ts";

const bucketMs = 30;

/** Where one measurement keeps its data. */
export interface OpenPlace {
  readonly place: Place;
  /** Bytes on disk: files after a checkpoint, or tables with their indexes. The write-ahead log is not counted. */
  readonly bytes: () => Promise<number>;
  remove(): Promise<void>;
}

export class Places {
  #postgres: Promise<PostgresServer> | null = null;
  #databases = 0;

  async open(subject: Subject, lasting: boolean): Promise<OpenPlace> {
    const folder = mkdtempSync(join(tmpdir(), "durable-bench-"));
    const database = subject.needs === "postgres" ? await this.#createDatabase() : null;
    const restate: RestateServer | null =
      subject.needs === "restate" ? await startRestate(join(folder, "server"), freePort) : null;
    return {
      place: {
        folder,
        postgres: database?.url ?? "",
        port: await freePort(),
        server: restate?.urls ?? [],
        lasting,
        bucketMs,
      },
      bytes: async () => (database === null ? folderBytes(folder) : tableBytes(database.url)),
      remove: async () => {
        await restate?.stop();
        await database?.drop();
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  }

  async #createDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
    this.#postgres ??= startPostgres();
    const { url } = await this.#postgres;
    const name = `bench_${++this.#databases}`;
    await query(url, `CREATE DATABASE ${name}`);
    return {
      url: url.replace(/\/postgres$/, `/${name}`),
      drop: async () => void (await query(url, `DROP DATABASE ${name} WITH (FORCE)`)),
    };
  }

  async close(): Promise<void> {
    const server = await this.#postgres?.catch(() => null);
    await server?.stop();
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query({ text })).rows;
  } finally {
    await client.end();
  }
}

async function tableBytes(url: string): Promise<number> {
  await query(url, "VACUUM");
  const rows = await query(
    url,
    `SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::float8 AS bytes
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'`,
  );
  return Number(rows[0]?.["bytes"]);
}

function folderBytes(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const paths = files.map((file) => join(file.parentPath, file.name));
  for (const path of paths.filter((each) => paths.includes(`${each}-wal`))) {
    const database = new DatabaseSync(path);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
  }
  return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
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
