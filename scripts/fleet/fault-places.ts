/** Where faults happen: a server, and what lies between it and the workers. */

import {
  appendFileSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { startPooler } from "../../packages/postgres/test/support/pooler.ts";
import { startPostgres, type PostgresServer } from "../../packages/postgres/test/support/server.ts";
import { silentProxy } from "../../packages/postgres/test/support/silent-proxy.ts";
import { openStorage } from "./storage.ts";

/** A server, and the address that workers use. */
export interface Prepared {
  readonly server: PostgresServer;
  readonly url: string;
  readonly extra?: unknown;
  readonly close: () => Promise<void>;
}

export async function plain(): Promise<Prepared> {
  const server = await startPostgres();
  return { server, url: server.url, close: () => server.stop() };
}

export async function proxied(): Promise<
  Prepared & { readonly extra: Awaited<ReturnType<typeof silentProxy>> }
> {
  const server = await startPostgres();
  const proxy = await silentProxy(server.url);
  const close = async (): Promise<void> => {
    await proxy.close();
    await server.stop();
  };
  return { server, url: proxy.url, extra: proxy, close };
}

/** Behind a pooler in transaction mode, with fewer connections than the workers would open. */
export async function pooled(): Promise<Prepared> {
  const server = await startPostgres();
  const pooler = await startPooler(server.url, 8);
  const close = async (): Promise<void> => {
    await pooler.close();
    await server.stop();
  };
  return { server, url: pooler.url, close };
}

/** A server on a file system of its own, which root can make. */
export async function small(): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), "durable-small-"));
  const before = process.env["TMPDIR"];
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=1777", "tmpfs", folder], { stdio: "pipe" });
  process.env["TMPDIR"] = folder;
  const server = await startPostgres().finally(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  const close = async (): Promise<void> => {
    await server.stop();
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  };
  return { server, url: server.url, extra: folder, close };
}

/** Gives a copy to the user of the server, as its original. */
function copyFolder(from: string): string {
  const to = mkdtempSync(join(tmpdir(), "durable-standby-"));
  cpSync(from, to, { recursive: true });
  const { uid, gid } = statSync(from);
  for (const name of ["", ...readdirSync(to, { recursive: true })])
    chownSync(join(to, String(name)), uid, gid);
  rmSync(join(to, "postmaster.pid"), { force: true });
  return to;
}

/** A primary, and an asynchronous standby that is a copy of its folder. */
export async function withStandby(): Promise<Prepared> {
  const first = await startPostgres(["wal_level=replica"]);
  const storage = await openStorage(first.url);
  await storage.list();
  await storage.close();
  await first.restart();
  const admin = new Client({ connectionString: first.url });
  await admin.connect();
  await admin.query("SELECT pg_backup_start('standby', true)");
  const folder = copyFolder(first.folder);
  await admin.query("SELECT pg_backup_stop()");
  await admin.end();
  writeFileSync(join(folder, "standby.signal"), "");
  const { hostname, port, username, password } = new URL(first.url);
  const source = `host=${hostname} port=${port} user=${username} password=${password}`;
  // In a file, because a setting of the command line could not be changed later.
  appendFileSync(join(folder, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  const standby = await startPostgres([], folder);
  const proxy = await silentProxy(first.url);
  const close = async (): Promise<void> => {
    await proxy.close();
    await standby.stop();
    await first.stop().catch(() => {});
  };
  return { server: first, url: proxy.url, extra: { standby, proxy }, close };
}
