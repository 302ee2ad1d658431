"use client";

import dynamic from "next/dynamic";

// The chat has its id in the address of the browser.
const ChatPage = dynamic(() => import("./chat").then((module) => module.ChatPage), { ssr: false });

export default function Page() {
  return <ChatPage />;
}
