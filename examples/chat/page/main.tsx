import { useState } from "react";
import { createRoot } from "react-dom/client";
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
  return <ChatPage key={id} id={id} onNew={() => setId(remember(crypto.randomUUID()))} />;
}

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<Root />);
