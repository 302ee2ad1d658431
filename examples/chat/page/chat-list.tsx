import type { ChatRow } from "@durable/ai-sdk/chat";
import { useEffect, useState } from "react";
import { chatsAfter, deleteChat } from "./server.ts";

interface ChatListProps {
  readonly current: string;
  /** Changes when the list may have changed. */
  readonly version: number;
  readonly onOpen: (id: string) => void;
  readonly onNew: () => void;
  readonly onDeleted: (id: string) => void;
}

export function ChatList({ current, version, onOpen, onNew, onDeleted }: ChatListProps) {
  const [chats, setChats] = useState<readonly ChatRow[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    let isMine = true;
    void chatsAfter(null)
      .then((page) => {
        if (!isMine) return;
        setChats(page.chats);
        setCursor(page.cursor);
      })
      // The list is shown as it was: the next turn asks again.
      .catch(() => {});
    return () => void (isMine = false);
  }, [version]);
  const more = async (): Promise<void> => {
    const page = await chatsAfter(cursor);
    setChats((before) => [...before, ...page.chats]);
    setCursor(page.cursor);
  };
  const remove = async (id: string): Promise<void> => {
    await deleteChat(id);
    setChats((before) => before.filter(({ chatId }) => chatId !== id));
    onDeleted(id);
  };
  return (
    <nav className="chats" aria-label="Chats">
      <button type="button" className="btn" onClick={onNew}>
        New chat
      </button>
      <ul>
        {chats.map(({ chatId, title }) => (
          <Row
            key={chatId}
            title={title || "Without words"}
            isCurrent={chatId === current}
            onOpen={() => onOpen(chatId)}
            onDelete={() => remove(chatId)}
          />
        ))}
      </ul>
      {cursor !== null && (
        <button type="button" className="link" onClick={() => void more().catch(() => {})}>
          Earlier chats
        </button>
      )}
    </nav>
  );
}

interface RowProps {
  readonly title: string;
  readonly isCurrent: boolean;
  readonly onOpen: () => void;
  readonly onDelete: () => Promise<void>;
}

/** Deleting takes two presses. */
function Row({ title, isCurrent, onOpen, onDelete }: RowProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <li className={isCurrent ? "current" : ""} onMouseLeave={() => setAsking(false)}>
      <button type="button" className="title" aria-current={isCurrent} title={title} onClick={onOpen}>
        {title}
      </button>
      <button
        type="button"
        className={isAsking ? "link fail" : "link"}
        aria-label={isAsking ? `Delete ${title} for ever` : `Delete ${title}`}
        onBlur={() => setAsking(false)}
        onClick={() => {
          setAsking(!isAsking);
          if (isAsking) void onDelete().catch(() => {});
        }}
      >
        {isAsking ? "Delete?" : "×"}
      </button>
    </li>
  );
}
