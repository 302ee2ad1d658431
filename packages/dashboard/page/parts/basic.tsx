/** Small parts that every view uses. */

import { searchValue } from "@durable/core/inspect";
import type { RunStateName, RunStatus } from "@durable/core";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { shortId, stateName, statusName } from "../lib/format.ts";
import { go, hrefOf, isFile, runPath } from "../lib/router.ts";

const stateClass: Readonly<Record<RunStateName | RunStatus, string>> = {
  blocked: "blocked",
  failed: "fail",
  failing: "fail",
  suspended: "waits",
  waiting: "waits",
  sleeping: "waits",
  paused: "waits",
  running: "runs",
  queued: "runs",
  open: "gone",
  completed: "done",
  cancelling: "gone",
  cancelled: "gone",
};

/** What a run does; in the tree of forks, where only the journals were read, its status. */
export function Status(
  props: { state: RunStateName; damaged?: boolean } | { status: RunStatus },
): JSX.Element {
  const [word, name] =
    "state" in props ? [props.state, stateName(props.state)] : [props.status, statusName(props.status)];
  if ("damaged" in props && props.damaged) return <span class="st fail">Damaged</span>;
  return <span class={`st ${stateClass[word]}`}>{name}</span>;
}

/** A link inside the page. A modified click opens another tab, as with any link. */
export function Link(props: {
  to: string;
  class?: string;
  label?: string;
  title?: string | undefined;
  /** The one of a list that is shown. */
  current?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const { to, children, label, title, current } = props;
  const onClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      class={props.class}
      href={hrefOf(to)}
      onClick={onClick}
      aria-label={label}
      title={title}
      aria-current={current === true ? "true" : undefined}
    >
      {children}
    </a>
  );
}

export function RunLink({ runId }: { runId: string }): JSX.Element {
  if (isFile) return <span class="id">{shortId(runId)}</span>;
  return (
    <Link to={runPath(runId)} class="id link" title={runId}>
      {shortId(runId)}
    </Link>
  );
}

/** A tag of a run; a click lists all runs with it. */
export function TagLink({ name, value }: { name: string; value: string }): JSX.Element {
  const text = `${name}=${value}`;
  if (isFile) return <span class="tag">{text}</span>;
  return (
    <Link
      to={`/?${new URLSearchParams({ tag: searchValue(text) }).toString()}`}
      class="tag"
      title={`Runs with ${text}`}
    >
      {text}
    </Link>
  );
}

export interface Tab {
  readonly id: string;
  readonly name: string;
}

/** Tabs by the usual keys: arrows move, the chosen one is a tab stop. */
export function Tabs(props: {
  tabs: readonly Tab[];
  chosen: string;
  onChoose: (id: string) => void;
  label: string;
}): JSX.Element {
  const { tabs, chosen, onChoose, label } = props;
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const index = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          role="tab"
          class={id === chosen ? "on" : ""}
          aria-selected={id === chosen}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

export function Empty({
  title,
  children,
}: {
  title: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  );
}

export function Problem({ text, onRetry }: { text: string; onRetry?: () => void }): JSX.Element {
  return (
    <div class="empty" role="alert">
      <h1 class="title">{text}</h1>
      {onRetry !== undefined && (
        <button type="button" class="btn" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A modal dialog: the browser keeps the focus inside, and Escape closes it. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  // Before the next key: an effect after the paint would lose what is typed until then.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Whatever closes it, the focus goes back to what had it.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={props.wide === true ? "wide" : ""}
      aria-label={props.title}
      // At once: the browser tells of `close` with the next frame, when the same dialog may be open again.
      onCancel={props.onClose}
      onClose={() => element.current !== null && props.onClose()}
    >
      <div class="dialog-head">
        <h2>{props.title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={props.onClose}>
          ✕
        </button>
      </div>
      {props.children}
    </dialog>
  );
}
