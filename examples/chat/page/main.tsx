import { useState } from "react";
import { createRoot } from "react-dom/client";
import { ChatList } from "./chat-list.tsx";
import { ChatPage } from "./chat-page.tsx";

/** The chat is in the address, so that a reload, a second tab and a link show the same one. */
function chatInAddress(): string {
  const url = new URL(location.href);
  const id = url.searchParams.get("chat") ?? localStorage.getItem("chat") ?? crypto.randomUUID();
  return remember(id);
}

function remember(id: string): string {
  localStorage.setItem("chat", id);
  history.replaceState(null, "", `?chat=${encodeURIComponent(id)}`);
  return id;
}

function Root() {
  const [id, setId] = useState(chatInAddress);
  const [turns, setTurns] = useState(0);
  /** On a narrow screen the list is above the page. */
  const [isListOpen, setListOpen] = useState(false);
  const open = (next: string): void => {
    setId(remember(next));
    setListOpen(false);
  };
  const isNew = (deleted: string): void => {
    if (deleted === id) open(crypto.randomUUID());
  };
  return (
    <div className={isListOpen ? "shell listing" : "shell"}>
      <ChatList
        current={id}
        version={turns}
        onOpen={open}
        onNew={() => open(crypto.randomUUID())}
        onDeleted={isNew}
      />
      {isListOpen && (
        <button
          type="button"
          className="veil"
          aria-label="Close the list"
          onClick={() => setListOpen(false)}
        />
      )}
      <ChatPage key={id} id={id} onTurn={() => setTurns((n) => n + 1)} onList={() => setListOpen(true)} />
    </div>
  );
}

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<Root />);
