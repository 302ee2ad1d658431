/** Recorded values: a tree that opens where it is clicked. Text stays text, whatever it contains. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { copy } from "../lib/state.ts";

const itemsPerPage = 100;
const longText = 2_000;

export function Value({ value, label }: { value: Plain; label: string }): JSX.Element {
  return (
    <div class="value">
      <button
        type="button"
        class="icon copy"
        aria-label={`Copy ${label}`}
        title="Copy as JSON"
        onClick={() => void copy(textOf(value), label)}
      >
        ⧉
      </button>
      {typeof value === "string" ? <LongText text={value} /> : <Part value={value} depth={0} />}
    </div>
  );
}

export function textOf(value: Plain): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Long texts are shown in part, because a browser takes seconds for megabytes. */
export function LongText({ text }: { text: string }): JSX.Element {
  const [all, setAll] = useState(false);
  const isCut = text.length > longText && !all;
  return (
    <span class="text">
      {isCut ? text.slice(0, longText) : text}
      {isCut && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          show all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}

function Part({ value, depth, name }: { value: Plain; depth: number; name?: string }): JSX.Element {
  const label = name === undefined ? null : <span class="name">{name}: </span>;
  if (typeof value !== "object" || value === null)
    return (
      <div class="leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  return <Branch value={value} depth={depth} label={label} />;
}

function Leaf({ value }: { value: string | number | boolean | null }): JSX.Element {
  if (typeof value === "string")
    return (
      <span class="string">
        <LongText text={value} />
      </span>
    );
  return <span class={value === null ? "null" : typeof value}>{String(value)}</span>;
}

function Branch({
  value,
  depth,
  label,
}: {
  value: object;
  depth: number;
  label: JSX.Element | null;
}): JSX.Element {
  const entries = Object.entries(value as Record<string, Plain>);
  const isList = Array.isArray(value);
  const [open, setOpen] = useState(depth < 2 && entries.length <= itemsPerPage);
  const [shown, setShown] = useState(itemsPerPage);
  const summary = isList ? `${entries.length} ${entries.length === 1 ? "item" : "items"}` : preview(entries);
  if (entries.length === 0)
    return (
      <div class="leaf">
        {label}
        <span class="null">{isList ? "[]" : "{}"}</span>
      </div>
    );
  return (
    <div class="branch">
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="arrow" aria-hidden="true">
          {open ? "▾" : "▸"}
        </span>
        {label}
        <span class="null">{open ? (isList ? "[" : "{") : summary}</span>
      </button>
      {open && (
        <div class="inside">
          {entries.slice(0, shown).map(([key, part]) => (
            <Part key={key} name={key} value={part} depth={depth + 1} />
          ))}
          {entries.length > shown && (
            <button type="button" class="more" onClick={() => setShown(shown + itemsPerPage)}>
              show more, {entries.length - shown} left
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function preview(entries: readonly (readonly [string, Plain])[]): string {
  const names = entries.slice(0, 4).map(([name]) => name);
  return `{ ${names.join(", ")}${entries.length > names.length ? ", …" : ""} }`;
}
