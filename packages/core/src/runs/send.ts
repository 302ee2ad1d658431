/**
 * Messages from outside to a run, and what others see of its report.
 *
 * send.1. A message is appended once: its id is looked up in the journal at the position of the append.
 * send.2. Nothing is appended to a run that has ended, or when the payload does not fit the schema of the topic.
 * send.3. A report or a question that cannot be decrypted here is left out of lists.
 */

import type { MessageSchemas } from "../engine/definition.ts";
import { writeFact } from "../journal/batch.ts";
import type { RunJournal } from "../journal/journal.ts";
import { assertName, assertRunId, locatorOf } from "../journal/keys.ts";
import type { Carried, Mailbox, Message } from "../journal/mailbox.ts";
import { openNote } from "../journal/envelope.ts";
import type { Cipher } from "../ports/cipher.ts";
import type { RunHead } from "../ports/storage.ts";
import { decode } from "../values/codec/decode.ts";
import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, show } from "../values/errors.ts";
import { digest } from "../values/hash.ts";
import { limits } from "../values/limits.ts";
import { assertOptions, defined } from "../values/options.ts";
import { fits } from "../values/schema.ts";
import type { Host } from "./host.ts";
import { byId, notFound, openJournal } from "./lookup.ts";

/**
 * `accepted`: recorded, now or when it was sent before. `conflict`: this id was sent before, with other content.
 * `invalid`: does not fit the schema of its topic. `ended`: the run has ended.
 */
export type SendStatus = "accepted" | "conflict" | "invalid" | "ended";

/** What happened to a message. */
export interface SendResult {
  readonly status: SendStatus;
  /** A message with this id was sent before. This one was not recorded. */
  readonly repeated: boolean;
  /** Why an `invalid` message does not fit. */
  readonly issues?: string;
}

/** Options of `run.send` and `app.send`. */
export interface SendOptions {
  /** Names this message. Sent again with the same id, it is `repeated` and counts once. */
  readonly id?: string | undefined;
}

/** A message as the caller passed it. */
export interface Sent {
  readonly topic: string;
  readonly payload: unknown;
  readonly options: SendOptions;
}

/** Appends a message to the journal of a run. Its driver reads it, or the run is due. */
export async function send(
  host: Host,
  runId: string,
  { topic, payload, options }: Sent,
): Promise<SendResult> {
  assertOptions(options, "id", `The message to run ${runId}`);
  assertRunId(runId);
  assertName(topic, `A message to run ${runId}`);
  const { id } = options;
  if (id !== undefined && !(typeof id === "string" && id.length > 0 && id.length <= limits.messageIdLength))
    throw new DurableError(
      "invalid-id",
      `${show(id)} is not a valid id of a message. Use 1 to ${limits.messageIdLength} characters.`,
    );
  const value = encode(payload, `message "${topic}" to run ${runId}`, limits.messageBytes);
  const fact = { kind: "message.sent", topic, value, ...(id === undefined ? {} : { id }) } as const;
  const locator = locatorOf(runId);
  return host.inTurn(locator, async () => {
    const result = await byId(host, runId, () => sendTo(host, runId, { fact, payload }));
    // A loop of sends must not keep a driver in the same process from reading: a storage may answer within this turn.
    await host.world.turn();
    return result;
  });
}

/** Appends through a journal that is in memory, if there is one. */
async function sendTo(
  host: Host,
  runId: string,
  { fact, payload }: { readonly fact: MessageFact; readonly payload: unknown },
): Promise<SendResult> {
  const locator = locatorOf(runId);
  const parked = await host.parked.checkOut(locator);
  const journal = parked ?? (await host.recent.take(locator)) ?? (await openJournal(host, locator));
  if (journal === null) throw notFound(runId);
  const user = host.parked.user(journal);
  try {
    const { messages } = host.find(journal.state.summary.workflow) ?? {};
    const issues = await issuesOf(messages, fact.topic, payload);
    if (issues !== null) return { status: "invalid", repeated: false, issues };
    return await append(host, journal, fact);
  } finally {
    host.parked.checkIn(journal, user);
    if (parked === null) host.recent.keep(journal);
  }
}

/** Why a payload does not fit its topic; `null` when it does, or nothing is known about topics. */
async function issuesOf(
  messages: MessageSchemas | null | undefined,
  topic: string,
  payload: unknown,
): Promise<string | null> {
  if (messages === null || messages === undefined) return null;
  if (!Object.hasOwn(messages, topic))
    return `${show(topic)} is not a topic of this workflow. Topics: ${Object.keys(messages).join(", ")}`;
  const result = await fits(messages[topic], payload);
  return result.ok ? null : result.issues;
}

type MessageFact = {
  readonly kind: "message.sent";
  readonly topic: string;
  readonly value: Json;
  readonly id?: string;
};

async function append(host: Host, journal: RunJournal, fact: MessageFact): Promise<SendResult> {
  for (;;) {
    const { mailbox, end } = journal.state;
    const known = fact.id === undefined ? undefined : mailbox.ids.get(fact.id);
    if (known !== undefined)
      return { status: contentOf(known) === contentOf(fact) ? "accepted" : "conflict", repeated: true };
    if (end !== null) return { status: "ended", repeated: false };
    if (mailbox.unread.size >= limits.unreadMessages) throw full(journal.runId);
    const written = writeFact(fact, host.world.now());
    const { kind } = await journal.append([written], { outside: true });
    if (kind === "landed") return { status: "accepted", repeated: false };
  }
}

/** Equal for messages that are equal. */
function contentOf(message: string | Pick<Message, "topic" | "value">): string {
  return typeof message === "string" ? message : digest(16, message.topic, JSON.stringify(message.value));
}

/** What the next chapter begins with; `undefined` when there is nothing. */
export function carried({ unread, ids }: Mailbox): Json | undefined {
  if (unread.size + ids.size === 0) return undefined;
  const messages: Carried = {
    unread: [...unread.values()].map(({ topic, id = "", at, value }) => [
      topic,
      id,
      at,
      JSON.stringify(value),
    ]),
    ids: [...ids].slice(-limits.messageIds).map(([id, message]) => [id, contentOf(message)]),
  };
  return messages as unknown as Json;
}

function full(runId: string): DurableError {
  return new DurableError(
    "limit",
    `Run ${runId} has ${limits.unreadMessages} messages that it has not read. Send again when it has received some, or cancel it.`,
    { details: { unread: limits.unreadMessages } },
  );
}

async function opened(
  text: string,
  { runId, at }: { readonly runId: string; readonly at: "report" | "question" | "error" },
  cipher: Cipher | null,
): Promise<unknown> {
  let json = JSON.parse(text) as Json;
  const { $: tag, v = "" } = Object(json) as { readonly $?: string; readonly v?: string };
  if (tag === "sealed") {
    if (cipher === null) return undefined;
    json = JSON.parse(await cipher.open(v, { runId, at })) as Json;
  } else if (cipher?.acceptsPlain === false) return undefined;
  return decode(json, `${at} of run ${runId}`);
}

/** The head of a run as users see it. */
export async function withTexts(head: RunHead, cipher: Cipher | null): Promise<RunHead> {
  const { report: kept, waits, error, blocked, runId, locator } = head;
  if ((kept ?? waits ?? error ?? blocked) === undefined) return head;
  const read = (text: unknown, at: "report" | "question" | "error"): Promise<unknown> | undefined =>
    typeof text === "string" ? opened(text, { runId, at }, cipher).catch(() => undefined) : undefined;
  const [report, question, message] = await Promise.all([
    read(kept, "report"),
    read(waits?.question, "question"),
    read(error?.message, "error"),
  ]);
  const { report: _, waits: __, ...rest } = head;
  const { message: ___, ...failed } = error ?? { code: "", group: "" };
  return {
    ...rest,
    ...defined({ report }),
    ...(blocked !== undefined && { blocked: await openNote(blocked, locator, cipher) }),
    ...(waits !== undefined && {
      waits: { count: waits.count, expiresAt: waits.expiresAt, ...defined({ question: question as string }) },
    }),
    ...(error !== undefined && { error: { ...failed, ...defined({ message: message as string }) } }),
  };
}
