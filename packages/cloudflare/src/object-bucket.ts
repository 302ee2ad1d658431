/**
 * A bucket in the SQLite of a Durable Object, for `RemoteStorage`: a request is a statement in the same thread, with no
 * network between. Proven in test/object-bucket.test.ts, on workerd.
 *
 * object-bucket.1. A text is written as a whole or not at all, also one of several rows.
 */

import type { Bucket } from "@durable/core/remote";

/** The part of the SQLite of a Durable Object that is used. */
export interface ObjectSql {
  readonly sql: {
    exec(
      query: string,
      ...bindings: (string | number)[]
    ): { toArray(): readonly Readonly<Record<string, unknown>>[] };
  };
  transactionSync<T>(work: () => T): T;
}

/** A row has at most 2 MB, and a character takes up to 3 bytes. */
const partLength = 500_000;
const mostKeys = 1_000;

/** A bucket in the SQLite of a Durable Object: `new RemoteStorage(objectBucket(ctx.storage))`. */
export function objectBucket(storage: ObjectSql): Bucket {
  const { sql } = storage;
  sql.exec(
    "CREATE TABLE IF NOT EXISTS durable_texts (key TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, part)) WITHOUT ROWID",
  );
  const isThere = (key: string): boolean =>
    sql.exec("SELECT 1 FROM durable_texts WHERE key = ? AND part = 0", key).toArray().length > 0;
  const insert = (key: string, text: string): void => {
    for (const [part, piece] of pieces(text).entries())
      sql.exec("INSERT INTO durable_texts (key, part, text) VALUES (?, ?, ?)", key, part, piece);
  };
  const remove = (key: string): void => void sql.exec("DELETE FROM durable_texts WHERE key = ?", key);
  return {
    async get(key) {
      const rows = sql.exec("SELECT text FROM durable_texts WHERE key = ? ORDER BY part", key).toArray();
      return rows.length === 0 ? null : rows.map(({ text }) => text as string).join("");
    },

    async create(key, text) {
      return storage.transactionSync(() => {
        if (isThere(key)) return false;
        insert(key, text);
        return true;
      });
    },

    async put(key, text) {
      storage.transactionSync(() => {
        remove(key);
        insert(key, text);
      });
    },

    async list({ prefix, after = "", limit = mostKeys }) {
      const most = Math.min(limit, mostKeys);
      // One more than asked for says whether there are more.
      const rows = sql
        .exec(
          "SELECT key FROM durable_texts WHERE key > ? AND key >= ? AND key < ? AND part = 0 ORDER BY key LIMIT ?",
          after,
          prefix,
          // The last character there is, so that no row after those with the prefix is read.
          `${prefix}\u{10ffff}`,
          most + 1,
        )
        .toArray();
      const keys = rows.slice(0, most).map(({ key }) => key as string);
      return { keys, more: rows.length > most && keys.length > 0 };
    },

    async delete(keys) {
      storage.transactionSync(() => {
        for (const key of keys) remove(key);
      });
    },
  };
}

/** Cut between characters: half of a pair would be stored as another character. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length || from === 0;) {
    const cut = from + partLength;
    const isPair = cut < text.length && /[\uD800-\uDBFF]/.test(text[cut - 1] as string);
    const end = isPair ? cut + 1 : cut;
    found.push(text.slice(from, end));
    from = end;
  }
  return found;
}
