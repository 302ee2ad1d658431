/**
 * One fault after the other, each on runs of its own, with the log of the bodies that ran as a ledger outside of the database.
 */

import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { PostgresServer } from "../../packages/postgres/test/support/server.ts";
import type { silentProxy } from "../../packages/postgres/test/support/silent-proxy.ts";
import { hasOpen, judge, longestStall, type Judged } from "./chaos.ts";
import { FleetWorker, inLanes, pause, persist } from "./children.ts";
import { plain, pooled, proxied, small, withStandby, type Prepared } from "./fault-places.ts";
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
  /** Bounds that were broken, each in words. */
  readonly broken: readonly string[];
}

/** What is promised for a fault beyond that nothing is lost or doubled. */
type Bounds = Partial<Record<"longestStallMs" | "healedMs" | "again", number>>;

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
  readonly prepare?: () => Promise<Prepared>;
  readonly most?: (attackMs: number) => Bounds;
  /** Resolves when it is over, with what was done. */
  readonly attack: (stage: Stage, prepared: Prepared) => Promise<string>;
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
    // More often, none would live long enough to begin, and runs that seem to kill their workers rest.
    const count = await every(Math.max(1_000, attackMs / 25), attackMs, async (n) => {
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

/** Terminates some backends of the workers, or all of them, every 60 ms. */
async function cut(server: PostgresServer, attackMs: number, most: number | null): Promise<string> {
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  let count = 0;
  await every(60, attackMs, async () => {
    const { rowCount } = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'durable' ORDER BY random() LIMIT $1`,
      [most],
    );
    count += rowCount ?? 0;
  });
  await admin.end();
  return `${count} backends terminated`;
}

const cuts: Fault = {
  workers: 3,
  // No run rests for longer after a fault of the connection, and little of the work is left by then.
  most: () => ({ healedMs: 10_000 }),
  attack: ({ server, attackMs }) => cut(server, attackMs, 3),
};

const cutAll: Fault = {
  workers: 3,
  // All of the work may be left, which lasts as long as the attack.
  most: (attackMs) => ({ healedMs: attackMs + 10_000 }),
  attack: ({ server, attackMs }) => cut(server, attackMs, null),
};

const deploy: Fault = {
  workers: 3,
  // A worker that is stopped lets its steps end and hands its runs over, so that no body runs twice.
  most: () => ({ again: 0 }),
  attack: async ({ workers, addWorker, attackMs }) => {
    let stopped = 0;
    await every(0, attackMs, async (n) => {
      const old = workers[n % workers.length];
      const next = addWorker();
      await next.up();
      workers[n % workers.length] = next;
      const code = await old?.stop();
      if (code !== 0) throw new Error(`A worker ended with ${code}: ${old?.complaints.join(" ")}`);
      stopped += 1;
    });
    return `${stopped} workers stopped by SIGTERM and replaced, in turn`;
  },
};

const blackHole: Fault = {
  workers: 1,
  prepare: proxied,
  // A statement without a reply is given up after half a minute at most, and one timeout replaces all connections.
  most: () => ({ longestStallMs: 30_000 }),
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
  "cut-all": cutAll,
  pooler: { ...kills, prepare: pooled },
  deploy,
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
    const figures = { longestStallMs, healedMs, again: found.again };
    const broken = Object.entries(fault.most?.(attackMs) ?? {}).flatMap(([what, most]) => {
      const figure = figures[what as keyof Bounds];
      return figure > most ? [`${what} is ${figure}, and at most ${most} is promised`] : [];
    });
    return { name, runs, did, regressed, ...found, ...figures, lost, broken };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await storage.close().catch(() => {});
    await prepared.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
