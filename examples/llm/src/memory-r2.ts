/** R2 bindings in memory, for tests that call a Worker's handler without an emulator. */

interface Listing {
  readonly prefix: string;
  readonly startAfter?: string;
  readonly limit?: number;
}

/** A bucket that has what the library and the examples use of a binding. */
export class MemoryR2 {
  readonly #objects = new Map<string, Uint8Array<ArrayBuffer>>();

  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer>; text(): Promise<string> } | null> {
    const found = this.#objects.get(key);
    if (found === undefined) return Promise.resolve(null);
    return Promise.resolve({
      arrayBuffer: () => Promise.resolve(found.slice().buffer),
      text: () => Promise.resolve(new TextDecoder().decode(found)),
    });
  }

  put(
    key: string,
    value: Uint8Array | string,
    options: { readonly onlyIf?: Headers } = {},
  ): Promise<object | null> {
    if (options.onlyIf?.get("if-none-match") === "*" && this.#objects.has(key)) return Promise.resolve(null);
    this.#objects.set(
      key,
      typeof value === "string" ? new TextEncoder().encode(value) : Uint8Array.from(value),
    );
    return Promise.resolve({});
  }

  list({ prefix, startAfter = "", limit = 1_000 }: Listing): Promise<{
    readonly objects: readonly { readonly key: string }[];
    readonly truncated: boolean;
  }> {
    const keys = [...this.#objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > startAfter)
      .toSorted((a, b) => (a < b ? -1 : 1));
    const objects = keys.slice(0, limit).map((key) => ({ key }));
    return Promise.resolve({ objects, truncated: objects.length < keys.length });
  }

  delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#objects.delete(key);
    return Promise.resolve();
  }
}
