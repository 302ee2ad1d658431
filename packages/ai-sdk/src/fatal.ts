/**
 * Errors of tools that end a run. The SDK catches whatever a tool throws and shows it to the model, so a `FatalError` is
 * remembered, and thrown by the next call of a model. Proven in test/tools-more.test.ts.
 */

import type { Context } from "@durable/core";

const ended = new WeakMap<Context, unknown>();

/** Recognized by name, because an error from a journal may come from another copy of the library. */
export function isFatal(error: unknown): boolean {
  return error instanceof Error && error.name === "FatalError";
}

/** From now on, every call of a model in this context fails with the error. */
export function stopAsking(ctx: Context, error: unknown): void {
  ended.set(ctx, error);
}

/** A rejection with that error; `null` when models may be asked. */
export function stopped(ctx: Context): Promise<never> | null {
  return ended.has(ctx) ? Promise.reject(ended.get(ctx)) : null;
}
