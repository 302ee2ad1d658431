/** What was asked of a model, as lines: what is new since the turn before is marked. */

import { plain, promptOf, type PromptView, type RowView } from "@durable/core/inspect";
import { CliError, exit } from "../exit.ts";
import type { Look } from "../look.ts";
import { styled } from "../terminal.ts";
import { inline, plural } from "./format.ts";

/** Names are hostile text as well, and must not begin lines of their own. */
const longest = 1_000;

/** What was asked in a call of a run. */
export function promptIn(
  { view: { runId }, entries }: Pick<Look, "view" | "entries">,
  { key, seq }: RowView,
): PromptView {
  const prompt = (seq === null ? null : promptOf(entries, seq)) ?? promptOf(entries, key);
  if (prompt !== null) return prompt;
  throw new CliError(
    `What was asked in "${key}" of run ${runId} was not recorded. createApp({ record: { prompts: true } }) or DURABLE_PROMPTS=1 records it for calls of models from then on.`,
    { exit: exit.notFound, code: "no-prompt" },
  );
}

export function promptLines(prompt: PromptView): string[] {
  const { key, model, provider, tools, settings, messages, missing, change } = prompt;
  const kept = change === null ? 0 : Math.max(0, change.kept - missing);
  const of = provider === null ? "" : ` of ${inline(provider)}`;
  return [
    `${styled("bold", key)}  ${model === null ? "a model that is not recorded" : inline(model)}${of}`,
    ...(tools.length === 0 ? [] : [`  tools  ${inline(tools.join(", "), longest)}`]),
    ...Object.entries(settings).map(([name, value]) => `  ${inline(name)}  ${inline(value, longest)}`),
    ...(change === null ? [] : [styled("dim", `  ${changeText(change)}`)]),
    ...(missing === 0 ? [] : [styled("yellow", `  ${plural(missing, "earlier message")} cannot be shown`)]),
    "",
    ...lines(messages.slice(0, kept), " "),
    ...lines(change?.removed ?? [], styled("red", "-")),
    ...lines(messages.slice(kept), change === null ? " " : styled("green", "+")),
  ];
}

function changeText({ key, kept, removed, added, settings }: NonNullable<PromptView["change"]>): string {
  const others = settings.length === 0 ? "" : `; changed: ${inline(settings.join(", "), longest)}`;
  return `since ${key}: ${plural(added.length, "message")} added, ${removed.length} removed, ${kept} kept${others}`;
}

function lines(messages: readonly unknown[], mark: string): string[] {
  return messages.flatMap((message) => messageLines(message).map((line) => `${mark} ${line}`));
}

/** A role, and the text of each part below it. */
function messageLines(message: unknown): string[] {
  const { role, content } = (message ?? {}) as { readonly role?: unknown; readonly content?: unknown };
  const parts = Array.isArray(content) ? (content as unknown[]) : [content ?? message];
  const texts = parts.flatMap((part) => textOf(part).split("\n"));
  return [styled("bold", inline(role ?? "message", 40)), ...texts.map((line) => `  ${line}`)];
}

function textOf(part: unknown): string {
  if (typeof part === "string") return part;
  const { type, text } = (part ?? {}) as { readonly type?: unknown; readonly text?: unknown };
  return type === "text" && typeof text === "string" ? text : JSON.stringify(plain(part));
}
