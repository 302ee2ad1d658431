/**
 * Reads values as they are stored in batches, independently of the library: `{"$":"@name"}` is the content of
 * a blob, `{"$":"*name name"}` in a list the items of blobs, `{"$":"+name name","v":rest}` a text in pieces,
 * `{"$":"=","v":[[key, value]]}` an object with many fields, and `{"$":"sealed","v":text}` any of these,
 * encrypted. Proven by the planted bugs of `npm run sim:mutants`.
 */

import type { NamedBlob } from "@durable/core/storage";
import { unseal } from "./cipher.ts";

type Tagged = { readonly $?: unknown; readonly v?: unknown };

/** Names of blobs, and places that values were sealed for. */
export interface Parts {
  readonly names: Set<string>;
  readonly places: Set<string>;
}

/** The contents of all blobs, by name. */
export class Blobs {
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, unknown>();
  readonly #wrong: (message: string) => void;

  constructor(wrong: (message: string) => void) {
    this.#wrong = wrong;
  }

  /** Adds the blobs that came with a batch. */
  learn(blobs: readonly NamedBlob[]): void {
    for (const { name, body } of blobs) {
      if (body === undefined) {
        if (!this.#texts.has(name)) this.#wrong(`blob ${name} is named but was never sent`);
        continue;
      }
      const text = body.startsWith('{"$":"sealed"')
        ? this.#opened(JSON.parse(body) as Tagged, "", new Set())
        : body;
      if ((this.#texts.get(name) ?? text) !== text) this.#wrong(`blob ${name} has two contents`);
      this.#texts.set(name, text);
    }
  }

  /** The entries of a batch, assembled and decrypted; `parts` collects the blobs and places in them. */
  whole<T>(value: T, runId: string, parts: Parts): T {
    return this.#whole(value, runId, parts) as T;
  }

  #whole(value: unknown, runId: string, parts: Parts): unknown {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return this.#items(value, runId, parts);
    const { $: tag, v } = value as Tagged;
    if (tag === "sealed") {
      const text = this.#opened(value, runId, parts.places);
      return this.#whole(JSON.parse(text), runId, parts);
    }
    if (typeof tag === "string" && tag.startsWith("@")) return this.#find(tag.slice(1), parts);
    if (typeof tag === "string" && tag.startsWith("+")) {
      const rest = this.#whole(v ?? "", runId, parts);
      return [...namesIn(tag).map((name) => this.#find(name, parts)), rest].flat().join("");
    }
    if (tag === "=") return Object.fromEntries(this.#whole(v, runId, parts) as [string, unknown][]);
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, this.#whole(inner, runId, parts)]),
    );
  }

  #items(items: readonly unknown[], runId: string, parts: Parts): unknown[] {
    return items.flatMap((item) => {
      const tag = (item as Tagged | null)?.$;
      return typeof tag === "string" && tag.startsWith("*")
        ? namesIn(tag).flatMap((name) => this.#find(name, parts))
        : [this.#whole(item, runId, parts)];
    });
  }

  #find(name: string, parts: Parts): unknown {
    const text = this.#texts.get(name);
    if (text === undefined) {
      this.#wrong(`blob ${name} is used but was never sent`);
      return [];
    }
    parts.names.add(name);
    // Blobs may contain blobs.
    const value: unknown = this.#values.get(name) ?? this.#whole(JSON.parse(text), "", parts);
    if (!hasBlobs(text)) this.#values.set(name, value);
    return value;
  }

  #opened({ v }: Tagged, runId: string, places: Set<string>): string {
    const opened = unseal(String(v));
    if (opened !== null && places.has(opened.at))
      this.#wrong(`two values of run ${runId} were sealed for one place`);
    places.add(opened?.at ?? "");
    if (opened === null || opened.runId !== runId)
      this.#wrong(`a value of run ${runId} was sealed for ${opened?.runId ?? "no run"}`);
    return opened?.text ?? "null";
  }
}

function namesIn(tag: string): string[] {
  return tag
    .slice(1)
    .split(" ")
    .filter((name) => name !== "");
}

/**
 * True when a text may contain blobs or sealed values: a quick test that spares most batches the full walk.
 */
export function mayBeWrapped(text: string): boolean {
  return text.includes('{"$":"sealed"') || hasBlobs(text);
}

function hasBlobs(text: string): boolean {
  return text.includes('{"$":"@') || text.includes('{"$":"*') || /\{"\$":"[+=]/.test(text);
}
