/**
 * What a program saw, as plain data that can be compared: without clocks, and with ids that are drawn anew each time
 * numbered in the order in which they appear.
 */

import type { Sdk } from "../support/versions.ts";

/** Measured times, and what only says where the SDK is. */
const unstable: ReadonlySet<string> = new Set([
  "performance",
  "stepTimeMs",
  "durationMs",
  "callId",
  "startTime",
]);
/** Ids that the SDK or a provider draws. Ids of tool calls are the model's, and must be kept. */
const drawn: ReadonlySet<string> = new Set(["id", "messageId", "approvalId", "responseMessageId"]);

export class Observer {
  readonly #sdk: Sdk;
  readonly #without: ReadonlySet<string>;
  readonly #ids = new Map<string, string>();
  readonly #inside: object[] = [];

  constructor(sdk: Sdk, without: readonly string[] = []) {
    this.#sdk = sdk;
    this.#without = new Set(without);
  }

  data(value: unknown, key = ""): unknown {
    if (typeof value === "string") return drawn.has(key) ? this.#id(value) : value;
    if (typeof value === "function") return "[function]";
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Date) return Date.now() - value.getTime() < 86_400_000 ? "now" : value.toISOString();
    if (value instanceof URL) return { url: value.href };
    if (value instanceof AbortSignal) return "[signal]";
    if (ArrayBuffer.isView(value))
      return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
    if (this.#inside.includes(value)) return "[again]";
    this.#inside.push(value);
    try {
      if (value instanceof Error) return this.#error(value);
      if (Array.isArray(value)) return value.map((item) => this.data(item, key));
      return this.#fields(value);
    } finally {
      this.#inside.pop();
    }
  }

  #fields(value: object, apart: readonly string[] = []): object {
    const fields = Object.entries(value)
      .filter(([key]) => !apart.includes(key))
      .filter(([key, field]) => field !== undefined && !unstable.has(key) && !this.#without.has(key))
      .map(([key, field]) => [key, this.data(field, key)]);
    return Object.fromEntries(fields) as object;
  }

  /** Everything by which a program can tell errors apart. */
  #error(error: Error): object {
    const classes = Object.entries(this.#sdk as unknown as Record<string, unknown>).flatMap(
      ([name, value]) => {
        const known = value as { isInstance?: (error: unknown) => boolean };
        return name.endsWith("Error") && known.isInstance?.(error) === true ? [name] : [];
      },
    );
    const { name, message, stack } = error;
    const record = {
      name,
      message,
      isInstance: classes,
      isError: (Error as unknown as { isError(value: unknown): boolean }).isError(error),
      isDOMException: error instanceof DOMException,
      hasStack: typeof stack === "string" && stack.length > 0,
      ...("cause" in error && error.cause !== undefined ? { cause: this.data(error.cause) } : {}),
      fields: this.#fields(error, ["name", "message", "stack", "cause"]),
    };
    return Object.fromEntries(Object.entries(record).filter(([key]) => !this.#without.has(key)));
  }

  #id(value: string): string {
    const known = this.#ids.get(value) ?? `id ${this.#ids.size + 1}`;
    this.#ids.set(value, known);
    return known;
  }
}
