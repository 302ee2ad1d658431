"use client";

import { Chat, useChat } from "@ai-sdk/react";
import { durableChatTransport } from "@durable/ai-sdk/chat-client";
import { useState, type FormEvent } from "react";

/** The id of this chat stays in the address, so that a reload shows the same one. */
function chatId(): string {
  const url = new URL(location.href);
  const id = url.searchParams.get("chat") ?? crypto.randomUUID();
  url.searchParams.set("chat", id);
  history.replaceState(null, "", url);
  return id;
}

// Outside of the component: an answer goes on when the component is gone.
const chat = new Chat({ id: chatId(), transport: durableChatTransport() });

export function ChatPage() {
  const { messages, sendMessage, status, stop } = useChat({ chat, resume: true });
  const [text, setText] = useState("");
  const isBusy = status === "submitted" || status === "streaming";
  const send = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() === "" || isBusy) return;
    setText("");
    void sendMessage({ text });
  };
  return (
    <main>
      <h1>durable chat</h1>
      <ol>
        {messages.map(({ id, role, parts }) => (
          <li key={id} className={role}>
            {parts.map((part) => (part.type === "text" ? part.text : "")).join("")}
          </li>
        ))}
      </ol>
      <form onSubmit={send}>
        <input
          aria-label="Your message"
          placeholder="Ask something"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
      <p role="status">{status}</p>
    </main>
  );
}
