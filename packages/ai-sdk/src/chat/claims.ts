/**
 * What a client says about tool calls, against what the runs of its chat recorded. The SDK executes tools that the messages
 * after the last one of the user approve, and a client can write any message.
 *
 * claims.1. An approved call is one that a run of the message recorded: the same tool, call id and input, and a question
 *     under this approval id.
 * claims.2. Outcomes of tools of the server come from the record. A call that has returned is not executed again.
 * claims.3. A call without a recorded outcome or question is one of a tool of the client, whose result is the client's input
 *     (results.ts).
 * claims.4. If the runs of a message are gone, the chat continues without approvals.
 * claims.5. One run uses an approval, however many requests have it. Another run may use it if that one failed before it
 *     called the tool, and not if the tool was under way then.
 *
 * Proven in test/chat-claims.test.ts.
 */

import { stepName } from "@durable/core/clients";
import type { Entry } from "@durable/core/types";
import { fingerprint } from "@durable/core/storage";
import type { Part } from "../chunks.ts";
import { isTool } from "./assembled.ts";
import type { ChatInput, Message } from "./asked.ts";
import { Refusal } from "./body.ts";
import type { ClientResult } from "./results.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The parts that a run recorded for a message. */
export interface Round {
  readonly runId: string;
  readonly messageId: string | null;
  readonly parts: readonly Part[];
}

/** A call that a run executes because the client has approved it. */
export interface ApprovedCall {
  /** Names the call in its chat. */
  readonly id: string;
  /** True if these are the entries of a run that failed before it called the tool. */
  readonly isUnused: (entries: readonly Entry[]) => boolean;
}

interface Call {
  readonly tool: string;
  readonly input: string;
  readonly questions: Set<unknown>;
  outcome: Part | null;
}

/** The tool calls that a request claims. */
export class Claims {
  readonly #input: ChatInput;
  /** The index of the first message after the last one of the user. */
  readonly #tail: number;

  constructor(input: ChatInput) {
    this.#input = input;
    this.#tail = input.messages.findLastIndex((message) => fieldsOf(message)["role"] === "user") + 1;
  }

  /** The ids of the messages with tool calls; nothing is claimed without one. */
  get messageIds(): ReadonlySet<unknown> {
    const tail = this.#input.messages.slice(this.#tail) as Message[];
    return new Set(tail.filter((message) => toolParts(message).length > 0).map(({ id }) => id));
  }

  /** Refuses calls that no run of their message made, and approvals that no run asked for. */
  assertMade(rounds: readonly Round[]): void {
    for (const message of this.#input.messages.slice(this.#tail) as Message[]) {
      const calls = callsIn(rounds, message.id);
      for (const part of toolParts(message)) assertMade(part, calls);
    }
  }

  /** Results that no round recorded: those of the client. */
  results(rounds: readonly Round[]): readonly ClientResult[] {
    return (this.#input.messages.slice(this.#tail) as Message[]).flatMap((message) => {
      const calls = callsIn(rounds, message.id);
      return toolParts(message)
        .filter((part) => hasResult(part) && (calls?.get(part["toolCallId"])?.outcome ?? null) === null)
        .map((part) => ({ tool: toolOf(part), part, isMade: calls !== null }));
    });
  }

  /** The approved calls that have no outcome in these rounds. */
  approved(rounds: readonly Round[]): readonly ApprovedCall[] {
    return (this.#input.messages.slice(this.#tail) as Message[]).flatMap((message) => {
      const calls = callsIn(rounds, message.id);
      return toolParts(message)
        .filter((part) => isApproved(part) && calls?.get(part["toolCallId"])?.outcome === null)
        .map((part) => approvedCall(message.id, part));
    });
  }

  /** The input of the run, with outcomes of the server as the rounds before it recorded them. */
  trusted(rounds: readonly Round[]): ChatInput {
    const messages = this.#input.messages.map((message, i) => {
      const calls = i < this.#tail ? null : callsIn(rounds, fieldsOf(message)["id"]);
      const { parts } = fieldsOf(message);
      if (calls === null || !Array.isArray(parts)) return message;
      return { ...fieldsOf(message), parts: (parts as unknown[]).map((part) => withOutcome(part, calls)) };
    });
    return { ...this.#input, messages };
  }
}

/** The calls of a message; `null` if no run of it is there. */
function callsIn(rounds: readonly Round[], messageId: unknown): ReadonlyMap<unknown, Call> | null {
  const mine = rounds.filter((round) => round.messageId === messageId);
  if (mine.length === 0) return null;
  const calls = new Map<unknown, Call>();
  for (const { type, ...part } of mine.flatMap(({ parts }) => parts)) {
    const call = calls.get(part["toolCallId"]);
    if (type === "tool-input-available" || type === "tool-input-error") {
      const made = { tool: String(part["toolName"]), input: inputOf(part["input"]) };
      calls.set(part["toolCallId"], { ...made, questions: new Set(), outcome: null });
    } else if (type === "tool-approval-request") call?.questions.add(part["approvalId"]);
    else if (call !== undefined && type.startsWith("tool-output-") && part["preliminary"] !== true)
      call.outcome ??= { type, ...part };
  }
  return calls;
}

/** Everything but `false` may count as a yes. */
function isApproved({ approval }: Fields): boolean {
  return (fieldsOf(approval)["approved"] ?? false) !== false;
}

function approvedCall(messageId: unknown, part: Fields): ApprovedCall {
  const { toolCallId } = part;
  const step = stepName(toolOf(part), String(toolCallId));
  return {
    id: fingerprint([messageId, toolCallId]),
    isUnused: (entries) =>
      entries.at(-1)?.kind === "run.failed" && !entries.flatMap(keysIn).some((key) => key.includes(step)),
  };
}

/** The calls that an entry tells of: what was under way when a run failed has no entry of its own. */
function keysIn(entry: Entry): readonly string[] {
  return [...("key" in entry ? [entry.key] : []), ...("abandoned" in entry ? (entry.abandoned ?? []) : [])];
}

function assertMade(part: Fields, calls: ReadonlyMap<unknown, Call> | null): void {
  const approval = fieldsOf(part["approval"]);
  const approved = isApproved(part);
  const isOver = String(part["state"]).startsWith("output-");
  if (calls === null) {
    if (approved && !isOver)
      throw refusal("The answer that asked for this approval is gone. Ask for it again.");
    return;
  }
  const call = calls.get(part["toolCallId"]);
  const isMade =
    call !== undefined &&
    call.tool === toolOf(part) &&
    call.input === inputOf(part["input"] ?? part["rawInput"]);
  if (!isMade) throw refusal("The request has a tool call that no answer of this chat has made.");
  if (call.outcome !== null) return;
  const isAsked = call.questions.has(approval["id"]);
  if (approved && !isAsked) throw refusal("The request approves what no answer of this chat has asked.");
  // Its tool has not run: the result would be the client's.
  if (isOver && call.questions.size > 0 && part["state"] !== "output-denied")
    throw refusal("The request has the result of a tool that waits for an approval.");
}

/** A call that was denied has none. */
function hasResult({ state }: Fields): boolean {
  return state === "output-available" || state === "output-error";
}

function refusal(message: string): Refusal {
  return new Refusal(409, { code: "unknown-tool-call", message });
}

/** The part with the recorded outcome of its call, if there is one. */
function withOutcome(part: unknown, calls: ReadonlyMap<unknown, Call>): unknown {
  const fields = fieldsOf(part);
  const outcome = isTool(fields) ? (calls.get(fields["toolCallId"])?.outcome ?? null) : null;
  if (outcome === null) return part;
  const { output: _, errorText: __, preliminary: ___, ...call } = fields;
  switch (outcome.type) {
    case "tool-output-available":
      return { ...call, state: "output-available", output: outcome["output"] };
    case "tool-output-error":
      return { ...call, state: "output-error", errorText: outcome["errorText"] };
    default:
      return { ...call, state: "output-denied" };
  }
}

function toolParts(message: unknown): Fields[] {
  const { parts } = fieldsOf(message);
  return Array.isArray(parts) ? (parts as unknown[]).map(fieldsOf).filter(isTool) : [];
}

function toolOf({ type, toolName }: Fields): string {
  return type === "dynamic-tool" ? String(toolName) : String(type).slice("tool-".length);
}

/** JSON has no `undefined`, and a client sends what it got as JSON. */
function inputOf(input: unknown): string {
  return fingerprint(JSON.parse(JSON.stringify(input ?? null)) as unknown);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
