/** Asks the server, or the data in an exported file, for what a view shows. */

import type {
  ActionReply,
  Attention,
  CostReply,
  ChildSums,
  Counts,
  DiffPage,
  EntryPage,
  Inbox,
  OpenedSession,
  Operations,
  PlanReply,
  PulseReply,
  Purge,
  RunList,
  RunPage,
  RunWaits,
  SentRun,
  Session,
  StepDetail,
  Tree,
  ValueField,
  ValueHits,
  ValuePart,
} from "../../src/api.ts";
import type { EvalList, EvalReport } from "../../src/api-evals.ts";
import type { Exported } from "../../src/export/export-run.ts";
import { type SearchSuggestions, searchTime } from "@durable/core/inspect";
import { readEvents } from "./events.ts";
import { hrefOf, queryOf } from "./router.ts";
import { patched } from "./patched.ts";
import { keepSession, sessionHeaders } from "./session.ts";
import { isUtc } from "./kept.ts";
import { connection, waiting } from "./state.ts";
import { type Handlers, Tabs } from "./tabs.ts";

/** The data of an exported file; `null` on a server. */
export const exported: Exported | null = readExported();

function readExported(): Exported | null {
  const text = document.getElementById("durable-run")?.textContent;
  return text === undefined || text === null ? null : (JSON.parse(text) as Exported);
}

/** An answer of the server that is not what was asked for. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await request(path, init);
  } catch {
    throw new ApiError(0, "offline", "The server does not answer. It may have been stopped.");
  }
  if (!response.ok) throw await refusal(response);
  return (await response.json().catch(() => ({}))) as T;
}

async function refusal(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  const { code = "internal", message = `The server answered with ${response.status}.` } = body.error ?? {};
  return new ApiError(response.status, code, message);
}

/** Asks with the session of this page, and with the cookies of an app that the page is mounted in. */
function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...sessionHeaders(), ...(init.headers as Record<string, string> | undefined) };
  return fetch(hrefOf(`/api/${path}`), { ...init, headers, credentials: "same-origin" });
}

function send<T>(path: string, body: object): Promise<T> {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Exchanges the token of the fragment for a session, and removes it from the address. */
export async function openSession(): Promise<Session> {
  const token = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (token !== null) {
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    const opened = await ask<OpenedSession>("session", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    keepSession(opened.session);
  }
  return ask("session");
}

/** Ends the session of this browser. */
export async function logOut(): Promise<void> {
  await ask("session", { method: "DELETE" }).catch(() => {});
  keepSession(null);
}

const about = (runId: string): string => `runs/${encodeURIComponent(runId)}`;
const queryText = (query: Readonly<Record<string, string | null | undefined>>): string =>
  new URLSearchParams(
    Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1])),
  ).toString();

export const getRuns = (query: Readonly<Record<string, string | null | undefined>>): Promise<RunList> =>
  ask(`runs?${queryText({ ...query, since: timeIn(query, "since"), until: timeIn(query, "until") })}`);

type Query = Readonly<Record<string, string | null | undefined>>;

/** A day begins where the reader is, which the server does not know. */
function timeIn(query: Query, field: "since" | "until"): string | null | undefined {
  const text = query[field];
  const time = text
    ? searchTime(text.replaceAll('"', ""), field, { now: Date.now(), utc: isUtc.peek() })
    : null;
  return time === null ? text : new Date(time).toISOString();
}

export const getSuggestions = (text: string): Promise<SearchSuggestions> =>
  ask(`suggest?${new URLSearchParams({ text }).toString()}`);
export const getCounts = (): Promise<Counts> => ask("counts");
export const getCost = (days: string): Promise<CostReply> => ask(`cost?${queryText({ days })}`);
export const getEvals = (cursor: string): Promise<EvalList> => ask(`evals?${queryText({ cursor })}`);
export const getEval = (runId: string): Promise<EvalReport> => ask(`evals/${encodeURIComponent(runId)}`);
export const getPulse = (range: string): Promise<PulseReply> => ask(`pulse?${queryText({ range })}`);
export const getAttention = (range: string, group?: string): Promise<Attention> =>
  ask(`attention?${queryText({ range, group })}`);
export const getInbox = (query: Query): Promise<Inbox> => ask(`inbox?${queryText(query)}`);
export const getWaits = (runId: string): Promise<RunWaits> => ask(`${about(runId)}/waits`);

/** Counts the open waits for the head of the page. */
export async function countWaits(): Promise<void> {
  waiting.value = await getInbox({ limit: "1" }).then(
    ({ open }) => open,
    () => waiting.peek(),
  );
}

export const getTree = (runId: string): Promise<Tree> => ask(`${about(runId)}/tree`);
export const getDiff = (before: string, after: string): Promise<DiffPage> =>
  ask(`diff?${queryText({ before, after })}`);

/** A page of a run, and the name under which its changes are asked for. */
export type KnownRun = RunPage & { readonly sent?: string };

/** The page of a run. Of one that is known, only what has changed is sent. */
export async function getRun(runId: string, chapter: string, known?: KnownRun | null): Promise<KnownRun> {
  if (exported !== null) return exported.run;
  const asked = await ask<SentRun>(`${about(runId)}?${queryText({ chapter, known: known?.sent })}`);
  return "of" in asked ? patched(asked, known) : asked;
}

export const getChildren = (runId: string): Promise<ChildSums> =>
  exported === null ? ask(`${about(runId)}/children`) : Promise.resolve({});

export function getStep(runId: string, key: string, chapter: string): Promise<StepDetail> {
  if (exported === null) return ask(`${about(runId)}/step?${queryText({ key, chapter })}`);
  const found = exported.steps[key];
  return found === undefined
    ? Promise.reject(new ApiError(404, "unknown-step", "This call is not in the file."))
    : Promise.resolve(found);
}

/** Where a recorded value is: of a run itself, or of one of its calls. */
export interface ValueSource {
  readonly runId: string;
  readonly key?: string;
  readonly field: ValueField;
}

/** A part of a value that was too large to be sent with the others. */
export const getPart = (
  source: ValueSource,
  part: { readonly path: string; readonly offset?: number },
): Promise<ValuePart> =>
  ask(`${valuePath(source)}&${queryText({ path: part.path, offset: String(part.offset ?? 0) })}`);

/** Places in a value whose text has these words. */
export const findIn = (source: ValueSource, words: string): Promise<ValueHits> =>
  ask(`${valuePath(source)}&${queryText({ find: words })}`);

function valuePath({ runId, key = "", field }: ValueSource): string {
  return `${about(runId)}/value?${queryText({ key, field, chapter: queryOf("chapter") })}`;
}

async function wholeValue(source: ValueSource): Promise<Response> {
  const response = await request(`${valuePath(source)}&download=1`);
  if (!response.ok) throw await refusal(response);
  return response;
}

/** All of a value, as JSON. */
export const readValue = async (source: ValueSource): Promise<string> => (await wholeValue(source)).text();

/** Saves a value as a file. */
export async function saveValue(source: ValueSource): Promise<void> {
  saveBlob(
    await (await wholeValue(source)).blob(),
    `${source.runId} ${source.key ?? ""} ${source.field}.json`.replaceAll(/[^\w.-]+/g, "-"),
  );
}

function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // The browser has begun to save it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export function getJournal(runId: string, offset: number, chapter: string): Promise<EntryPage> {
  if (exported === null)
    return ask(`${about(runId)}/journal?${queryText({ offset: String(offset), limit: "100", chapter })}`);
  const { journal } = exported;
  return Promise.resolve({ entries: journal.slice(offset, offset + 100), total: journal.length });
}

export interface ForkBody {
  readonly from?: string;
  readonly after?: string;
  readonly edit?: Readonly<Record<string, unknown>>;
  readonly input?: unknown;
  readonly prompts?: Readonly<Record<string, string>>;
  readonly label?: string;
}

export const postPlan = (runId: string, body: ForkBody): Promise<PlanReply> =>
  send(`${about(runId)}/plan`, body);
export const postFork = (runId: string, body: ForkBody): Promise<ActionReply> =>
  send(`${about(runId)}/fork`, body);
export const postAnswer = (runId: string, key: string, value: unknown): Promise<ActionReply> =>
  send(`${about(runId)}/answer`, { key, value });
export const postAction = (
  runId: string,
  action: "retry" | "wake" | "cancel" | "pause" | "unpause",
  body: object = {},
): Promise<ActionReply> => send(`${about(runId)}/${action}`, body);

export const postMessage = (runId: string, topic: string, payload: unknown): Promise<ActionReply> =>
  send(`${about(runId)}/messages/${encodeURIComponent(topic)}`, { payload });

export const postScore = (
  runId: string,
  name: string,
  value: number | null,
  note: string,
): Promise<ActionReply> => send(`${about(runId)}/score`, { name, value, note });
export const postExample = (
  runId: string,
  example: { readonly label: string | null; readonly expected?: unknown },
): Promise<ActionReply> => send(`${about(runId)}/score`, { example });

export const getOperations = (): Promise<Operations> => ask("operations");
export const postSchedule = (
  name: string,
  action: "pause" | "unpause" | "trigger" | "delete",
): Promise<ActionReply> => send(`schedules/${encodeURIComponent(name)}/${action}`, {});
export const postWorkflow = (
  name: string,
  action: "pause" | "unpause",
  reason: string,
): Promise<ActionReply> => send(`workflows/${encodeURIComponent(name)}/${action}`, { reason });
export const postPurge = (body: {
  readonly olderThan: string;
  readonly status: readonly string[];
  readonly workflow: string;
  readonly dryRun: boolean;
}): Promise<Purge> => send("purge", body);

/** Saves a run as a file. */
export async function saveExport(runId: string, redact: boolean): Promise<void> {
  const response = await request(`${about(runId)}/export?redact=${redact ? 1 : 0}`);
  if (!response.ok) throw await refusal(response);
  saveBlob(await response.blob(), `${runId}.html`);
}

/** Server-sent events until the returned function is called. A hidden page keeps no connection. */
export function listen(path: string, handlers: Handlers): () => void {
  if (exported !== null) return () => {};
  let source: AbortController | null = null;
  const open = (): void => {
    if (document.hidden || source !== null) return;
    source = new AbortController();
    const { signal } = source;
    void readEvents(() => request(path, { signal }), {
      signal,
      act: (name, data) => handlers[name]?.(data),
    });
  };
  const close = (): void => {
    source?.abort();
    source = null;
  };
  const look = (): void => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", look);
  open();
  return () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
}

/** Changes of runs, for all tabs; `null` where a browser cannot share, as on a page that is not secure. */
let tabs: Tabs | null | undefined;

function shared(): Tabs | null {
  if (exported !== null || !("locks" in navigator) || !("BroadcastChannel" in window)) return null;
  return new Tabs(`durable events ${hrefOf("/")}`, (topics, signal) =>
    request(`events?${eventsAbout(topics)}`, { signal }),
  );
}

function eventsAbout(topics: readonly string[]): string {
  return new URLSearchParams(topics.map((id) => (id === "" ? ["list", "1"] : ["run", id]))).toString();
}

/**
 * Calls back at the changes of a run, or of the list without one, until the returned function is called. The page says whether
 * it hears of them.
 */
export function watch(runId: string | null, changed: () => void): () => void {
  const topic = runId ?? "";
  const handlers: Handlers = {
    runs: changed,
    run: changed,
    open: () => {
      // What happened while there was no connection is not announced.
      if (connection.peek() === "lost") changed();
      connection.value = "live";
    },
    error: () => (connection.value = "lost"),
  };
  tabs ??= shared();
  const stop = tabs?.listen(topic, handlers) ?? listen(`events?${eventsAbout([topic])}`, handlers);
  return () => {
    connection.value = "off";
    stop();
  };
}
