/** The R2 binding of a Worker, D1, or the SQLite of Durable Objects, as a bucket of this process: every call is made in workerd. */

import type { Bucket } from "@durable/core/remote";
import { Miniflare } from "miniflare";
import { bundle } from "./bundle.ts";

interface Started {
  open(prefix: string): Bucket;
  stop(): Promise<void>;
}

export function startR2(): Promise<Started> {
  return start(new URL("bucket-worker.ts", import.meta.url), { r2Buckets: ["JOURNAL"] });
}

/** D1, for a trial. */
export function startD1(): Promise<Started> {
  return start(new URL("d1-worker.ts", import.meta.url), { d1Databases: ["DB"] });
}

/** Each prefix is an object of its own. */
export function startObjects(): Promise<Started> {
  return start(new URL("object-worker.ts", import.meta.url), {
    durableObjects: { TEXTS: { className: "Texts", useSQLite: true } },
  });
}

async function start(worker: URL, bindings: object): Promise<Started> {
  const server = new Miniflare({
    modules: true,
    script: await bundle(worker),
    cf: false,
    compatibilityDate: "2026-07-01",
    ...bindings,
    host: "127.0.0.1",
    port: 0,
  });
  const url = await server.ready;
  return {
    stop: () => server.dispose(),
    open: (prefix) => {
      const call = async (operation: string, ...args: readonly unknown[]): Promise<unknown> => {
        const target = new URL(`/?prefix=${encodeURIComponent(prefix)}`, url);
        const response = await fetch(target, { method: "POST", body: JSON.stringify({ operation, args }) });
        if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
        return response.json();
      };
      return {
        get: (key) => call("get", key) as Promise<string | null>,
        create: (key, text) => call("create", key, text) as Promise<boolean>,
        put: (key, text) => call("put", key, text) as Promise<void>,
        list: (query) => call("list", query) as ReturnType<Bucket["list"]>,
        delete: (keys) => call("delete", keys) as Promise<void>,
      };
    },
  };
}
