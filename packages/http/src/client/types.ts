/** The types of an app as a client sees them: in JSON, as the routes give and take them. */

import type { AnyWorkflow, App, ListedRun, RunStateName, SendResult, Workflow } from "@durable/core";
import type { listedFacts } from "@durable/core/inspect";
import type { MessageSchemas, SchemaInput, SendStatus } from "@durable/core/types";

/** What JSON makes of a value: dates, URLs, big numbers and bytes are text, sets and maps are lists. */
export type JsonOf<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends undefined | void
      ? null
      : T extends Date | URL | RegExp | bigint | ArrayBuffer | ArrayBufferView
        ? string
        : T extends ReadonlyMap<infer K, infer V>
          ? (readonly [JsonOf<K>, JsonOf<V>])[]
          : T extends ReadonlySet<infer V>
            ? JsonOf<V>[]
            : T extends readonly unknown[]
              ? { [K in keyof T]: JsonOf<T[K]> }
              : T extends (...args: never) => unknown
                ? never
                : T extends object
                  ? { [K in keyof T as T[K] extends (...args: never) => unknown ? never : K]: Member<T[K]> }
                  : never;

/** Members that are `undefined` are left out. */
type Member<T> = undefined extends T ? JsonOf<Exclude<T, undefined>> | undefined : JsonOf<T>;

/** The workflows of an app. */
export type WorkflowsOf<A> = A extends App<infer W> ? W : readonly AnyWorkflow[];

/** The names of workflows: any text, where the type of the app does not know them. */
export type NameIn<W extends readonly AnyWorkflow[]> = W[number]["name"];

type Named<W extends readonly AnyWorkflow[], Name> = W[number] extends infer One
  ? One extends AnyWorkflow
    ? Name extends One["name"]
      ? One
      : never
    : never
  : never;

/** The input of a workflow of this name. */
export type InputIn<W extends readonly AnyWorkflow[], Name> =
  Named<W, Name> extends Workflow<infer Input, infer _O, infer _M, infer _N> ? JsonOf<Input> : unknown;

/** The output of a workflow of this name. */
export type OutputIn<W extends readonly AnyWorkflow[], Name> =
  Named<W, Name> extends Workflow<infer _I, infer Output, infer _M, infer _N> ? JsonOf<Output> : unknown;

/** The messages of a workflow of this name. */
export type MessagesIn<W extends readonly AnyWorkflow[], Name> =
  Named<W, Name> extends Workflow<infer _I, infer _O, infer M, infer _N> ? M : MessageSchemas;

/** The payload of a topic. */
export type PayloadOf<M extends MessageSchemas, K extends keyof M> = JsonOf<SchemaInput<M[K]>>;

/** Why something failed. */
export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** A wait that is open. */
export interface ClientWait {
  readonly key: string;
  readonly name: string;
  /** Answers exactly this wait; missing where the policy of the server does not show tokens, and for messages. */
  readonly token?: string;
  readonly note: unknown;
  readonly schema: unknown;
  readonly expiresAt: number | null;
  /** It waits for a message of this topic. */
  readonly topic?: string;
}

interface Undone {
  readonly cancelling?: { readonly reason?: string };
  readonly failing?: Reason;
}

/** Where a run is. The same as `Outcome`, in JSON. */
export type ClientOutcome<Output = unknown> = {
  readonly runId: string;
  readonly state: RunStateName;
  readonly report?: unknown;
} & (
  | { readonly status: "completed"; readonly output: Output }
  | { readonly status: "failed"; readonly error: Reason; readonly uncompensated?: readonly string[] }
  | ({
      readonly status: "suspended";
      readonly waiting: readonly ClientWait[];
      readonly wakeAt: number | null;
    } & Undone)
  | {
      readonly status: "cancelled";
      readonly reason?: string;
      readonly error?: Reason;
      readonly uncompensated?: readonly string[];
    }
  | ({ readonly status: "running"; readonly waiting: readonly ClientWait[] } & Undone)
  | {
      readonly status: "paused";
      readonly reason: string | null;
      readonly since: number;
      readonly waiting: readonly ClientWait[];
    }
  | ({
      readonly status: "blocked";
      readonly error: Reason;
      readonly since: number;
      readonly waiting: readonly ClientWait[];
    } & Undone)
);

/** A run in a list. */
export type ClientRow = JsonOf<ReturnType<typeof listedFacts>> & Pick<ListedRun, "runId" | "status">;

/** What became of a message. */
export interface ClientSent extends Omit<SendResult, "status"> {
  readonly status: SendStatus;
}
