/** Malformed requests against a server in a process of its own. Short in a test, long in `npm run soak:http`. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { seeded } from "@durable/testing";
import { malformed } from "./malformed.ts";

export interface Fuzzed {
  /** Requests that were refused, or cut off. */
  readonly malformed: number;
  /** Requests that turned out to be good ones all the same. */
  readonly harmless: number;
  /** Answers by status; "none" where the connection was closed without one. */
  readonly answers: Readonly<Record<string, number>>;
  readonly serverErrors: number;
  /** Connections that were still open, without an answer, after the time for it. */
  readonly hanging: number;
  /** What the server heard of through onError. */
  readonly faults: number;
  readonly memoryGrowth: number;
  /** A proper answer right after all that, to a run that was waiting all along. */
  readonly goodAfter: boolean;
}

interface FuzzServer {
  readonly port: number;
  /** Of a run that waits, `kept`. */
  readonly token: string;
  /** What the process holds after a collection, and how many faults of its own it heard of. */
  memory(): Promise<{ rss: number; faults: number }>;
  stop(): void;
}

/** A server in a process of its own, so that its memory is its own. */
export async function fuzzServer(): Promise<FuzzServer> {
  const child = fork(new URL("fuzz-server.ts", import.meta.url), {
    execArgv: ["--conditions=durable-source", "--expose-gc", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [server] = (await once(child, "message")) as [{ port: number; token: string }];
  return {
    ...server,
    memory: async () => {
      child.send("memory");
      const [found] = (await once(child, "message")) as [{ rss: number; faults: number }];
      return found;
    },
    stop: () => void child.kill("SIGKILL"),
  };
}

export async function fuzz(options: {
  readonly requests: number;
  readonly seed: number;
  /** Requests before memory is looked at first. */
  readonly warmUp: number;
  readonly progress?: (count: number, growth: number) => void;
}): Promise<Fuzzed> {
  const server = await fuzzServer();
  try {
    const { port, token } = server;
    const random = seeded(options.seed);
    const counts = { malformed: 0, harmless: 0, hanging: 0, answers: {} as Record<string, number> };
    const send = async (): Promise<void> => {
      const statuses = await exchange(port, malformed(random));
      if (statuses === null) counts.hanging += 1;
      const [status = "none"] = statuses ?? [];
      counts.answers[status] = (counts.answers[status] ?? 0) + 1;
      if (/^[23]/.test(status)) counts.harmless += 1;
      else counts.malformed += 1;
      for (const later of statuses?.slice(1) ?? [])
        if (later.startsWith("5")) counts.answers[later] = (counts.answers[later] ?? 0) + 1;
    };
    const until = async (count: number): Promise<void> => {
      const one = async (): Promise<void> => {
        while (counts.malformed < count) await send();
      };
      await Promise.all(Array.from({ length: 64 }, one));
    };
    await until(options.warmUp);
    const before = await server.memory();
    let last = before;
    for (let next = options.warmUp; next < options.requests;) {
      next = Math.min(options.requests, next + 5_000);
      await until(next);
      last = await server.memory();
      options.progress?.(counts.malformed, last.rss - before.rss);
    }
    const serverErrors = Object.entries(counts.answers)
      .filter(([status]) => status.startsWith("5"))
      .reduce((sum, [, count]) => sum + count, 0);
    const goodAfter = await answered(port, token);
    return { ...counts, serverErrors, faults: last.faults, memoryGrowth: last.rss - before.rss, goodAfter };
  } finally {
    server.stop();
  }
}

/**
 * Sends bytes, and ends when no answer comes: what is incomplete would be waited for. Not at once, since Node takes
 * that for a client that went away. Returns the statuses, or `null` when none came and the connection stayed open.
 */
function exchange(port: number, bytes: Uint8Array): Promise<string[] | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    let quiet = setTimeout(() => socket.end(), 250);
    const done = (statuses: string[] | null): void => {
      clearTimeout(late);
      clearTimeout(quiet);
      // Without the minute a closed connection would take up its port.
      socket.resetAndDestroy();
      resolve(statuses);
    };
    const found = (): string[] =>
      [...text.matchAll(/^HTTP\/1\.1 ([2-5]\d\d) /gm)].map(([, status = ""]) => status);
    const late = setTimeout(() => done(text === "" ? null : found()), 30_000);
    socket.on("data", (data) => {
      text += data.toString("latin1");
      // A connection may be kept for more, and a stream goes on: what comes in a moment is the answer.
      clearTimeout(quiet);
      quiet = setTimeout(() => socket.end(), 20);
    });
    socket.on("error", () => {});
    socket.on("close", () => done(found()));
    socket.write(bytes);
  });
}

async function answered(port: number, token: string): Promise<boolean> {
  const url = `http://127.0.0.1:${port}`;
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"value":{"approved":true}}',
  };
  const taken = await fetch(`${url}/resume/${token}`, init);
  const read = (await (await fetch(`${url}/runs/kept`)).json()) as { status: string };
  return taken.status === 200 && read.status === "completed";
}
