/**
 * One fault after the other, each on runs of its own, with the log of the bodies that ran as a ledger outside of the database.
 */

import {
  appendFileSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { startPostgres, type PostgresServer } from "../../packages/postgres/test/support/server.ts";
import { silentProxy } from "../../packages/postgres/test/support/silent-proxy.ts";
import { hasOpen, judge, longestStall, type Judged } from "./chaos.ts";
import { FleetWorker, inLanes, pause, persist } from "./children.ts";
import { bodiesIn, fleetApp, fleetFlows } from "./flows.ts";
import { openStorage } from "./storage.ts";

export interface FaultOptions {
  readonly runs: number;
  /** How long an attack lasts that lasts at all. */
  readonly attackMs: number;
  readonly healMs: number;
  readonly progress: (line: string) => void;
}

export interface FaultReport extends Judged {
  readonly name: string;
  readonly runs: number;
  /** What was done, in words. */
  readonly did: string;
  /** The longest time without a body since the attack began. */
  readonly longestStallMs: number;
  /** From the end of the attack until all runs had ended. */
  readonly healedMs: number;
  /** Runs with an entry that says that batches were lost. */
  readonly regressed: number;
}

/** What a fault may do: it starts and ends workers by itself. */
interface Stage {
  readonly server: PostgresServer;
  /** The address of the workers. */
  readonly url: string;
  readonly attackMs: number;
  readonly workers: FleetWorker[];
  readonly addWorker: () => FleetWorker;
}

interface Fault {
  readonly workers: number;
  /** Makes the server, and the address that workers use. */
  readonly prepare?: () => Promise<Prepared>;
  /** Resolves when it is over, with what was done. */
  readonly attack: (stage: Stage, prepared: Prepared) => Promise<string>;
}

interface Prepared {
  readonly server: PostgresServer;
  readonly url: string;
  readonly extra?: unknown;
  readonly close: () => Promise<void>;
}

async function plain(): Promise<Prepared> {
  const server = await startPostgres();
  return { server, url: server.url, close: () => server.stop() };
}

async function proxied(): Promise<Prepared & { readonly extra: Awaited<ReturnType<typeof silentProxy>> }> {
  const server = await startPostgres();
  const proxy = await silentProxy(server.url);
  const close = async (): Promise<void> => {
    await proxy.close();
    await server.stop();
  };
  return { server, url: proxy.url, extra: proxy, close };
}

async function every(ms: number, forMs: number, work: (n: number) => Promise<void>): Promise<number> {
  const until = Date.now() + forMs;
  let n = 0;
  for (; Date.now() < until; n++) {
    await work(n);
    await pause(ms);
  }
  return n;
}

const kills: Fault = {
  workers: 3,
  attack: async ({ workers, addWorker, attackMs }) => {
    const count = await every(attackMs / 25, attackMs, async (n) => {
      await workers[n % workers.length]?.kill();
      workers[n % workers.length] = addWorker();
    });
    return `${count} SIGKILLs`;
  },
};

const restarts: Fault = {
  workers: 2,
  attack: async ({ server, attackMs }) => {
    const count = await every(attackMs / 10, attackMs, () => server.restart("crash"));
    return `${count} crashes of the server`;
  },
};

const cuts: Fault = {
  workers: 3,
  attack: async ({ server, attackMs }) => {
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    let count = 0;
    await every(60, attackMs, async () => {
      const { rowCount } = await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'durable' ORDER BY random() LIMIT 3`);
      count += rowCount ?? 0;
    });
    await admin.end();
    return `${count} backends terminated`;
  },
};

const blackHole: Fault = {
  workers: 1,
  prepare: proxied,
  attack: async (_, { extra }) =>
    `${(extra as Awaited<ReturnType<typeof silentProxy>>).silence()} connections went silent, no other worker`,
};

const zombie: Fault = {
  workers: 2,
  attack: async ({ workers }) => {
    const [victim] = workers;
    if (victim === undefined) throw new Error("There is no worker.");
    process.kill(victim.pid, "SIGSTOP");
    await pause(40_000);
    process.kill(victim.pid, "SIGCONT");
    return "a worker stood still for 40 s";
  },
};

/** A server on a file system of its own, which root can make. */
async function small(): Promise<Prepared> {
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

const fullDisk: Fault = {
  workers: 2,
  prepare: small,
  attack: async ({ attackMs }, { extra }) => {
    const folder = String(extra);
    const fillers: string[] = [];
    await every(200, attackMs, async (n) => {
      const { bavail, bsize } = statfsSync(folder);
      if (bavail === 0) return;
      fillers.push(join(folder, `filler-${n}`));
      try {
        writeFileSync(fillers.at(-1) ?? "", Buffer.alloc(bavail * bsize));
      } catch {
        // The server took some of the space meanwhile.
      }
    });
    for (const filler of fillers) rmSync(filler, { force: true });
    return `the disk was full for ${attackMs / 1_000} s`;
  },
};

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
async function withStandby(): Promise<Prepared> {
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

const failover: Fault = {
  workers: 2,
  prepare: withStandby,
  attack: async ({ server }, { extra }) => {
    const { standby, proxy } = extra as {
      readonly standby: PostgresServer;
      readonly proxy: Awaited<ReturnType<typeof silentProxy>>;
    };
    const admin = new Client({ connectionString: standby.url });
    await admin.connect();
    // What the primary commits from here on never arrives.
    await admin.query("ALTER SYSTEM SET primary_conninfo = ''");
    await admin.query("SELECT pg_reload_conf()");
    while ((await admin.query("SELECT FROM pg_stat_wal_receiver")).rowCount !== 0) await pause(50);
    await pause(2_500);
    await server.stop();
    await admin.query("SELECT pg_promote()");
    await admin.end();
    proxy.moveTo(standby.url);
    return "the last 2.5 s of commits were lost";
  },
};

export const faults: Readonly<Record<string, Fault>> = {
  kills,
  restarts,
  cuts,
  "black-hole": blackHole,
  zombie,
  "full-disk": fullDisk,
  failover,
};

/** Starts runs, begins the fault when a fifth of the bodies have run, and waits until all runs have ended. */
export async function sufferFault(name: string, options: FaultOptions): Promise<FaultReport> {
  const fault = faults[name];
  if (fault === undefined) throw new Error(`There is no fault ${name}.`);
  const { runs, attackMs, healMs, progress } = options;
  const folder = mkdtempSync(join(tmpdir(), "durable-fault-"));
  const log = join(folder, "bodies");
  const prepared = await (fault.prepare ?? plain)();
  const storage = await openStorage(prepared.url);
  const app = fleetApp(storage, fleetFlows(log));
  const workers: FleetWorker[] = [];
  // All runs together last about as long as the attack.
  const stepMs = Math.max(5, (attackMs * fault.workers * 25) / (runs * 10));
  const addWorker = (): FleetWorker => new FleetWorker(prepared.url, log, { concurrency: 25, stepMs });
  try {
    for (let n = 0; n < fault.workers; n++) workers.push(addWorker());
    await Promise.all(workers.map((worker) => worker.up()));
    const ids = Array.from({ length: runs }, (_, n) => `run-${n}`);
    await inLanes(ids, 20, async (id) => {
      await persist(() => app.start("ten", null, { id, drive: false }), healMs);
    });
    while (bodiesIn(log).length < runs * 2) await pause(100);
    const began = Date.now();
    const did = await fault.attack({ ...prepared, attackMs, workers, addWorker }, prepared);
    progress(`${name}: ${did}`);
    const from = Date.now();
    while (Date.now() - from < healMs && (await persist(() => hasOpen(storage), healMs))) await pause(200);
    const healedMs = Date.now() - from;
    const found = await judge(app, ids, bodiesIn(log));
    const ended = workers.filter(({ hasEnded }) => hasEnded);
    const lost = [
      ...found.lost,
      ...ended.map(({ complaints }) => `a worker ended: ${complaints.join(" ").slice(0, 500)}`),
    ];
    let regressed = 0;
    await inLanes(ids, 20, async (id) => {
      if ((await app.get(id).entries()).some(({ kind }) => kind === "run.regressed")) regressed += 1;
    });
    const times = bodiesIn(log).map(({ at }) => at);
    const { longestStallMs } = longestStall([began, ...times.filter((at) => at > began)]);
    return { name, runs, did, longestStallMs, healedMs, regressed, ...found, lost };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await storage.close().catch(() => {});
    await prepared.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
