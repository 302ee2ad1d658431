/** Messages of a model call. Their text is shown as text: no Markdown, no links, no images. */

import type { JSX } from "preact";
import type { ChatMessage, ChatPart } from "../lib/chat.ts";
import { LongText } from "./value.tsx";

const roleClass = new Map([
  ["assistant", "a"],
  ["system", "s"],
  ["tool", "tool"],
]);

export function Chat({ messages, live }: { messages: readonly ChatMessage[]; live: boolean }): JSX.Element {
  return (
    <div class="chat" role="log" aria-label="Messages" aria-live={live ? "polite" : "off"}>
      {messages.map(({ role, parts }, i) =>
        isFolded(messages[i]) ? (
          <details key={i} class="msg s">
            <summary>
              <b>{role}</b> <span>{`${textOf(messages[i]).slice(0, longFold)}…`}</span>
            </summary>
            {parts.map((part, j) => (
              <Part key={j} part={part} />
            ))}
          </details>
        ) : (
          <div key={i} class={`msg ${roleClass.get(role) ?? "u"}`}>
            <small>
              <span>{role}</span>
              {live && i === messages.length - 1 && <span class="st runs">writing</span>}
            </small>
            {parts.map((part, j) => (
              <Part key={j} part={part} />
            ))}
          </div>
        ),
      )}
    </div>
  );
}

/** A system prompt that is longer is folded, because it is the same in every turn. */
const longFold = 90;

const textOf = (message: ChatMessage | undefined): string =>
  message?.parts.map(({ text }) => text).join(" ") ?? "";

function isFolded(message: ChatMessage | undefined): boolean {
  return message?.role === "system" && textOf(message).length > longFold;
}

const titles: Readonly<Record<ChatPart["type"], string>> = {
  text: "",
  reasoning: "reasoning",
  call: "calls",
  result: "result of",
  other: "",
};

function Part({ part }: { part: ChatPart }): JSX.Element {
  const { type, name, text } = part;
  if (type === "text")
    return (
      <p>
        <LongText text={text} />
      </p>
    );
  return (
    <div class={`part ${type}`}>
      <small>
        {titles[type]} {name}
      </small>
      <LongText text={text} />
    </div>
  );
}
