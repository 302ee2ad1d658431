/**
 * A bucket in the IndexedDB of a browser, one record per object: for runs that live in a page. Tabs and workers of one site
 * share it. Keys of IndexedDB sort by their UTF-16 units, as strings of JavaScript do.
 *
 * indexeddb.1. A promise resolves after its transaction has completed, and not when its request has succeeded.
 * indexeddb.2. A connection never prevents another tab from deleting the database, and is opened again when it was lost.
 */

import type { Bucket, BucketPage, BucketQuery } from "../../ports/bucket.ts";
import { DurableError, describeError } from "../../values/errors.ts";

const pageSize = 1_000;
const storeName = "objects";

/** Options of `IndexedDBBucket`. */
export interface IndexedDBOptions {
  /**
   * False lets the browser decide when objects reach the disk: they survive a reload and a crash of the tab, but perhaps not
   * the machine. True by default.
   */
  readonly sync?: boolean | undefined;
}

type Work<T> = (store: IDBObjectStore, give: (value: T) => void) => void;

/** A bucket in the IndexedDB of a browser: one record per key. */
export class IndexedDBBucket implements Bucket {
  /** The name of the database. */
  readonly name: string;
  readonly #durability: IDBTransactionDurability;
  #opened: Promise<IDBDatabase> | null = null;

  constructor(name: string, { sync = true }: IndexedDBOptions = {}) {
    this.name = name;
    this.#durability = sync ? "strict" : "relaxed";
  }

  get(key: string): Promise<string | null> {
    return this.#do<string | null>("readonly", (store, give) => {
      const request = store.get(key) as IDBRequest<string | undefined>;
      request.addEventListener("success", () => give(request.result ?? null));
    });
  }

  create(key: string, text: string): Promise<boolean> {
    return this.#do<boolean>("readwrite", (store, give) => {
      const request = store.add(text, key);
      request.addEventListener("success", () => give(true));
      request.addEventListener("error", (event) => {
        if (request.error?.name !== "ConstraintError") return;
        // The key is taken. Without this the transaction would abort.
        event.preventDefault();
        event.stopPropagation();
        give(false);
      });
    });
  }

  put(key: string, text: string): Promise<void> {
    return this.#do<void>("readwrite", (store, give) => {
      store.put(text, key);
      give();
    });
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#do<void>("readwrite", (store, give) => {
      for (const key of keys) store.delete(key);
      give();
    });
  }

  list({ prefix, after = "", limit = pageSize }: BucketQuery): Promise<BucketPage> {
    return this.#do<BucketPage>("readonly", (store, give) => {
      const most = Math.min(limit, pageSize);
      // Keys with the prefix follow each other, so the first key without it ends the page.
      const from =
        after >= prefix ? IDBKeyRange.lowerBound(after, true) : IDBKeyRange.lowerBound(prefix, false);
      const request = store.getAllKeys(from, most + 1) as IDBRequest<string[]>;
      request.addEventListener("success", () => {
        const found = request.result.filter((key) => key.startsWith(prefix));
        give({ keys: found.slice(0, most), more: found.length > most });
      });
    });
  }

  /** Closes the connection. The next request opens it again. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    (await opened?.catch(() => null))?.close();
  }

  async #do<T>(mode: IDBTransactionMode, work: Work<T>): Promise<T> {
    try {
      const transaction = await this.#begin(mode);
      return await new Promise<T>((resolve, reject) => {
        let given: { readonly value: T } | null = null;
        const fail = (): void => reject(transaction.error ?? new Error("the transaction was aborted"));
        transaction.addEventListener("abort", fail);
        transaction.addEventListener("complete", () => (given === null ? fail() : resolve(given.value)));
        work(transaction.objectStore(storeName), (value) => (given = { value }));
      });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async #begin(mode: IDBTransactionMode): Promise<IDBTransaction> {
    const options = { durability: this.#durability };
    try {
      return (await this.#open()).transaction(storeName, mode, options);
    } catch (error) {
      // The connection was closed after it was opened: by this object, by the browser, or for a tab that deletes the database.
      if (nameOf(error) !== "InvalidStateError") throw error;
      this.#opened = null;
      return (await this.#open()).transaction(storeName, mode, options);
    }
  }

  #open(): Promise<IDBDatabase> {
    if (this.#opened !== null) return this.#opened;
    const opened = openDatabase(this.name, () => {
      if (this.#opened === opened) this.#opened = null;
    });
    this.#opened = opened;
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = null;
    });
    return opened;
  }

  #failure(error: unknown): DurableError {
    if (DurableError.is(error)) return error;
    const found = failures[nameOf(error)] ?? busy;
    const message = `Cannot use the IndexedDB database "${this.name}" (${describeError(error)}). ${found.advice}`;
    return new DurableError(found.code, message, { cause: error });
  }
}

interface Failure {
  readonly code: "storage-full" | "storage-busy" | "storage-failed";
  readonly advice: string;
}

const busy: Failure = { code: "storage-busy", advice: "Try again later." };
const full: Failure = {
  code: "storage-full",
  advice: "Purge old runs, or free space on this device, then try again.",
};
const other: Failure = {
  code: "storage-failed",
  advice: "The name belongs to another database. Use a name of its own for the bucket.",
};
const refused: Failure = {
  code: "storage-failed",
  advice:
    "The browser does not let this page store data. Check the settings of the site, or a private window.",
};

const failures: Readonly<Record<string, Failure>> = {
  QuotaExceededError: full,
  SecurityError: refused,
  ReferenceError: {
    code: "storage-failed",
    advice: "Use this bucket in a browser, or another one on this platform.",
  },
  // The database exists, but was not made by this bucket.
  NotFoundError: other,
  VersionError: other,
};

function nameOf(error: unknown): string {
  return String((error as { name?: unknown } | null)?.name);
}

function openDatabase(name: string, onLost: () => void): Promise<IDBDatabase> {
  const { indexedDB } = globalThis as { readonly indexedDB?: IDBFactory };
  if (indexedDB === undefined) return Promise.reject(new ReferenceError("this platform has no IndexedDB"));
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(storeName));
    request.addEventListener("error", () =>
      reject(request.error ?? new Error("the database could not be opened")),
    );
    request.addEventListener("success", () => {
      const database = request.result;
      database.addEventListener("close", onLost);
      database.addEventListener("versionchange", () => {
        onLost();
        database.close();
      });
      resolve(database);
    });
  });
}
