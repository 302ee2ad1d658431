/** One fetch handler over an app: `(Request) => Promise<Response>`, for any server that speaks them. */

import type { App } from "@durable/core";
import type { Limits } from "./limits.ts";

export type ActionType = "start" | "read" | "tokens" | "list" | "stream" | "fork" | "cancel" | "describe";

/** What a request wants to do. */
export interface Action {
  readonly type: ActionType;
  /** The workflow of `start`, and of a `list` that asks for one. */
  readonly workflow?: string;
  /** Of everything that is about one run. Checked for its shape, not for whether it exists. */
  readonly runId?: string;
}

/** True lets the request through, false refuses it with 403, a Response is sent as it is. The body is not to be read here. */
export type Authorize = (
  request: Request,
  action: Action,
) => boolean | Response | Promise<boolean | Response>;

export interface HandlerOptions {
  /** Where the handler is mounted: "/durable". "" by default. */
  readonly basePath?: string;
  /** Asked before everything but resume by token. Without it all the rest is refused. */
  readonly authorize?: Authorize;
  readonly limits?: Partial<Limits>;
  /** Hears what was answered with 5xx. By default it is a warning of the app's world. */
  readonly onError?: (error: unknown) => void;
  /** Keeps an edge request alive for work that goes on after its answer. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /** A resume is answered after this many milliseconds at the latest, with the run driven on behind it. 2,000 by default. */
  readonly answerMs?: number;
  /** Milliseconds between the comments that keep a quiet stream open. 15,000 by default. */
  readonly keepAliveMs?: number;
}

export type Handler = (request: Request) => Promise<Response>;

export function createHandler(_app: App, _options: HandlerOptions = {}): Handler {
  throw new Error("to come");
}
