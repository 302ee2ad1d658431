import type { ReactNode } from "react";
import "./style.css";

export const metadata = { title: "durable chat" };

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
