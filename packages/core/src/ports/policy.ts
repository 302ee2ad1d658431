/**
 * Who may do what: one vocabulary for HTTP, the dashboard, MCP and chats, so that one function can decide for all of them.
 * An action names every run, workflow, schedule, key, tag and priority that it touches, and what touches several runs is
 * asked once for each. Only `true` or `{ scope }` allows.
 */

/** What a request wants to do, for `authorize`. */
export type ActionType =
  | "start"
  | "read"
  | "tokens"
  | "list"
  | "overview"
  | "stream"
  | "fork"
  | "resume"
  | "send"
  | "wake"
  | "cancel"
  | "pause"
  | "unpause"
  | "retry"
  | "report"
  | "score"
  | "delete"
  | "purge"
  | "schedules"
  | "schedule"
  | "describe";

/** What a request wants to do, and with what. */
export interface Action {
  readonly type: ActionType;
  /**
   * The run, whose characters are checked; whether it exists is not. For a `list`, the run whose forks and children are
   * listed. For a `start`, the id that the run is to have, or the run that has the key of the start. Missing where the
   * action is about no single run.
   */
  readonly runId?: string;
  /**
   * Given for `start`, for a `read` of a row of a list, for a `list`, a `purge` and `schedules` of one workflow, and for a
   * `pause` or `unpause` of all its runs. A `purge` or `list` without it is about all workflows.
   */
  readonly workflow?: string;
  /** Given for a `start` with a key of this kind, as the request names it. */
  readonly singleton?: string;
  /** Given for a `start` with a key of this kind, as the request names it. */
  readonly debounce?: string;
  /** Given for a `start` with a priority. */
  readonly priority?: number;
  /** Given for a `start`, a `list` and a `purge` with tags. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Given for `send`: the topic of the message. */
  readonly topic?: string;
  /** Given for `schedule`, which changes one, and for `schedules` that reads one: its name. */
  readonly schedule?: string;
  /** Given for `schedule`: what it does. */
  readonly change?: "pause" | "unpause" | "trigger" | "delete";
  /** Given for a `fork` that names the id of the new run. */
  readonly forkId?: string;
  /** Given for a `fork` with edits, and for the `resume` or `send` that such edits are: the keys as the request names them. */
  readonly edits?: readonly string[];
  /** Given for a `resume` by edits of a fork: the keys among `edits` that answer. */
  readonly waits?: readonly string[];
  /** Given by a chat: its id. */
  readonly chatId?: string;
}

/**
 * What `authorize` decides: `true` or a scope allows. A scope separates keys that requests name, such as those of tenants,
 * and has a share of the streams. It chooses priorities up to `priority`, which is 0 by default.
 */
export type Verdict = boolean | Response | { readonly scope: string; readonly priority?: number | undefined };

/**
 * Decides about a request: `true` or `{ scope }` allows it, a Response is sent as it is, everything else answers 403. Read
 * headers only, because the body may have been read.
 */
export type Authorize = (request: Request, action: Action) => Verdict | Promise<Verdict>;
