/** What was asked of a model: what is new since the turn before, and all of it. Texts are shown as texts, whatever they contain. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { chatOf, type ChatMessage } from "../lib/chat.ts";
import { plural } from "../lib/format.ts";
import { type Piece, wordDiff } from "../lib/words.ts";
import { Chat } from "./chat.tsx";
import { Value } from "./value.tsx";

type Fields = Readonly<Record<string, Plain | undefined>>;

function fieldsOf(value: Plain | undefined): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function textIn(value: Plain | undefined): string {
  return typeof value === "string" ? value : "";
}

function listOf(value: Plain | undefined): readonly Plain[] {
  return Array.isArray(value) ? (value as readonly Plain[]) : [];
}

/** Each message by itself, because one that is none must not hide the others. */
function messagesOf(messages: readonly Plain[]): ChatMessage[] {
  return messages.flatMap((message) => {
    const found = chatOf([message]);
    const text = JSON.stringify(message);
    return found.length > 0 ? found : [{ role: "", parts: [{ type: "other", name: "", text }] }];
  });
}

/** An exported file may have a note in the place of a part that was too large. */
export function Prompt({ prompt }: { prompt: Plain }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (typeof prompt === "string") return <p class="soft">{prompt}</p>;
  const { model, provider, tools, settings, messages: given, missing, change: changed } = fieldsOf(prompt);
  const messages = listOf(given);
  const lost = Number(missing ?? 0);
  const { key, kept = 0, removed, settings: others } = fieldsOf(changed);
  const hasChange = changed !== null && changed !== undefined;
  const first = hasChange ? Math.max(0, Number(kept) - lost) : 0;
  const names = listOf(others).map(String);
  return (
    <div class="prompt">
      <dl class="kv">
        <dt>Model</dt>
        <dd>
          {textIn(model) || "not recorded"} <span class="faint">{textIn(provider)}</span>
        </dd>
        {listOf(tools).length > 0 && (
          <>
            <dt>Tools</dt>
            <dd>{listOf(tools).map(String).join(", ")}</dd>
          </>
        )}
      </dl>
      {Object.keys(fieldsOf(settings)).length > 0 && <Value value={settings ?? null} label="the settings" />}
      {lost > 0 && (
        <p class="soft">
          {plural(lost, "earlier message")} cannot be shown: their record is not in this run.
        </p>
      )}
      {hasChange && (
        <p class="soft">
          Since <b class="key">{textIn(key)}</b>: {plural(messages.length - first, "message")} added,{" "}
          {listOf(removed).length} removed, {Number(kept)} kept
          {names.length > 0 && `; changed: ${names.join(", ")}`}.{" "}
          {first > 0 && (
            <button type="button" class="more" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
              {isWhole ? "show what is new" : `show all ${messages.length} messages`}
            </button>
          )}
        </p>
      )}
      {isWhole && <Chat messages={messagesOf(messages.slice(0, first))} live={false} />}
      {listOf(removed).length > 0 && (
        <Marked mark="removed" messages={listOf(removed)} others={messages.slice(first)} />
      )}
      {hasChange ? (
        <Marked mark="added" messages={messages.slice(first)} others={listOf(removed)} />
      ) : (
        <Chat messages={messagesOf(messages)} live={false} />
      )}
    </div>
  );
}

interface MarkedProps {
  readonly mark: "added" | "removed";
  readonly messages: readonly Plain[];
  /** Those on the other side, with which they are compared word by word. */
  readonly others: readonly Plain[];
}

function Marked({ mark, messages, others }: MarkedProps): JSX.Element | null {
  if (messages.length === 0) return null;
  const [shown, opposite] = [messagesOf(messages), messagesOf(others)];
  return (
    <div class={`marked ${mark}`} role="group" aria-label={`Messages ${mark} since the turn before`}>
      <small>{mark}</small>
      {shown.map((message, i) => {
        const pieces = piecesOf(mark, message, opposite[i]);
        if (pieces === null) return <Chat key={i} messages={[message]} live={false} />;
        return (
          <div key={i} class={`msg ${message.role === "assistant" ? "a" : "u"}`}>
            <small>
              <span>{message.role}</span>
            </small>
            <Words pieces={pieces} />
          </div>
        );
      })}
    </div>
  );
}

/** A text with the words that are only in it, or no longer in the other one. */
export function Words({ pieces }: { pieces: readonly Piece[] }): JSX.Element {
  return (
    <p class="text">
      {pieces.map(({ text, change }, i) =>
        change === "same" ? text : change === "new" ? <ins key={i}>{text}</ins> : <del key={i}>{text}</del>,
      )}
    </p>
  );
}

/** The system prompt as a fork names it; `null` where it is not known, or not a text alone. */
export function systemIn(prompt: Plain | undefined): string | null {
  const { messages, missing } = fieldsOf(prompt);
  if (!Array.isArray(messages) || Number(missing ?? 0) > 0) return null;
  const contents = (messages as readonly Plain[])
    .map(fieldsOf)
    .flatMap(({ role, content }) => (role === "system" ? [content] : []));
  return contents.every((content) => typeof content === "string") ? contents.join("\n") : null;
}

/** The words of a message beside those of the one in its place; `null` where there is none to compare with. */
function piecesOf(
  mark: MarkedProps["mark"],
  message: ChatMessage,
  other: ChatMessage | undefined,
): readonly Piece[] | null {
  const texts = [message, other].map((one) => one?.parts.filter(({ type }) => type === "text"));
  const [own, theirs] = texts.map((parts) => parts?.map(({ text }) => text).join("\n") ?? "");
  if (other?.role !== message.role || !own || !theirs || texts[0]?.length !== message.parts.length)
    return null;
  return mark === "added" ? wordDiff(theirs, own).after : wordDiff(own, theirs).before;
}
