/** What all views share: the session, the theme, messages, the time. */

import { signal } from "@preact/signals";
import type { Session } from "../../src/api.ts";
import { keep, kept } from "./kept.ts";

export const session = signal<Session | null>(null);

/** Whether the page hears of changes. */
export const connection = signal<"live" | "lost" | "off">("off");

/** How many waits are open. */
export const waiting = signal<{ readonly count: number; readonly more: boolean }>({ count: 0, more: false });

/** A sentence at the edge of the page, such as the result of an action. */
export const notice = signal<{ readonly text: string; readonly bad: boolean } | null>(null);

let noticeTimer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, bad = false): void {
  clearTimeout(noticeTimer);
  notice.value = { text, bad };
  noticeTimer = setTimeout(() => (notice.value = null), bad ? 12_000 : 5_000);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The time of the server, for durations that grow. */
export const now = signal(Date.now());
let ahead = 0;

export function setServerTime(time: number): void {
  ahead = time - Date.now();
  now.value = time;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + ahead;
}, 1_000);

type Theme = "light" | "dark";
const themeName = "durable-theme";
function storedTheme(): Theme | null {
  const value = kept(themeName);
  return value === "light" || value === "dark" ? value : null;
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const systemTheme = (): Theme => (prefersDark.matches ? "dark" : "light");

export const theme = signal<Theme>(storedTheme() ?? systemTheme());

prefersDark.addEventListener("change", () => {
  if (storedTheme() === null) theme.value = systemTheme();
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  keep(themeName, theme.value);
}

theme.subscribe((value) => {
  document.documentElement.dataset["theme"] = value;
});

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    say(`The browser does not allow copying. ${what}: ${text}`, true);
  }
}
