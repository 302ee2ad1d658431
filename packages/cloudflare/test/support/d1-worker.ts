/** A bucket in D1, with one table of keys and texts: the trial of docs/guides/operate/durable-objects.md, and no storage of ours. */

import type { Bucket } from "@durable/core/remote";
import type { Call } from "./bucket-worker.ts";

interface Prepared {
  bind(...values: readonly (string | number)[]): Prepared;
  all(): Promise<{
    readonly results: readonly Readonly<Record<string, string>>[];
    readonly meta: { readonly changes: number };
  }>;
}

interface D1Binding {
  prepare(query: string): Prepared;
}

function d1Bucket(db: D1Binding): Bucket {
  const ask = (query: string, ...values: readonly (string | number)[]): ReturnType<Prepared["all"]> =>
    db
      .prepare(query)
      .bind(...values)
      .all();
  return {
    get: async (key) => (await ask("SELECT text FROM texts WHERE key = ?", key)).results[0]?.["text"] ?? null,
    create: async (key, text) =>
      (await ask("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", key, text)).meta.changes === 1,
    put: async (key, text) => void (await ask("INSERT OR REPLACE INTO texts VALUES (?, ?)", key, text)),
    list: async ({ prefix, after = "", limit = 1_000 }) => {
      const query = "SELECT key FROM texts WHERE key > ? AND key >= ? AND key < ? ORDER BY key LIMIT ?";
      const { results } = await ask(query, after, prefix, `${prefix}\u{10ffff}`, limit + 1);
      const keys = results.slice(0, limit).map(({ key = "" }) => key);
      return { keys, more: results.length > limit && keys.length > 0 };
    },
    delete: async (keys) => {
      for (const key of keys) await ask("DELETE FROM texts WHERE key = ?", key);
    },
  };
}

const handler = {
  async fetch(request: Request, { DB }: { readonly DB: D1Binding }): Promise<Response> {
    const prefix = new URL(request.url).searchParams.get("prefix") ?? "";
    await DB.prepare("CREATE TABLE IF NOT EXISTS texts (key TEXT PRIMARY KEY, text TEXT NOT NULL)").all();
    const { operation, args } = (await request.json()) as Call;
    const bucket = prefixed(d1Bucket(DB), prefix);
    const work = bucket[operation].bind(bucket) as (...args: readonly never[]) => Promise<unknown>;
    return Response.json((await work(...args)) ?? null);
  },
};

/** Each test has its own part of the one table. */
function prefixed(bucket: Bucket, all: string): Bucket {
  return {
    get: (key) => bucket.get(all + key),
    create: (key, text) => bucket.create(all + key, text),
    put: (key, text) => bucket.put(all + key, text),
    delete: (keys) => bucket.delete(keys.map((key) => all + key)),
    list: async ({ prefix, after, ...query }) => {
      const from = after === undefined ? {} : { after: all + after };
      const { keys, more } = await bucket.list({ ...query, ...from, prefix: all + prefix });
      return { keys: keys.map((key) => key.slice(all.length)), more };
    },
  };
}

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
