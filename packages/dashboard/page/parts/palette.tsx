/** Ctrl-K: runs by words, and what the page can do, without a mouse. */

import { type Signal, signal, useSignal } from "@preact/signals";
import { readSearch } from "@durable/core/inspect";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { RunItem } from "../../src/api.ts";
import { getRuns } from "../lib/api.ts";
import { shortId, stateName } from "../lib/format.ts";
import { toggleUtc } from "../lib/kept.ts";
import { go, runPath } from "../lib/router.ts";
import { runCommands } from "../lib/run-commands.ts";
import { say, toggleTheme } from "../lib/state.ts";
import { Dialog } from "./basic.tsx";

export const paletteOpen = signal(false);

interface Choice {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly act: () => void;
  /** Why it is not possible now. */
  readonly not?: string | null;
}

const actions: readonly Choice[] = [
  { id: "home", name: "Runs", about: "go", act: () => go("/") },
  {
    id: "failed",
    name: "Failed runs of the last day",
    about: "go",
    act: () => go("/?status=failed&since=24h"),
  },
  { id: "dear", name: "Dearest runs of the last week", about: "go", act: () => go("/?sort=cost&since=7d") },
  { id: "inbox", name: "Inbox: answer what waits", about: "go", act: () => go("/inbox") },
  { id: "cost", name: "Cost", about: "go", act: () => go("/cost") },
  { id: "evals", name: "Evals: before and after", about: "go", act: () => go("/evals") },
  { id: "schedules", name: "Schedules", about: "go", act: () => go("/operate") },
  {
    id: "workers",
    name: "Workers, and pause a workflow",
    about: "go",
    act: () => go("/operate?tab=workers"),
  },
  { id: "limits", name: "Quotas and limits", about: "go", act: () => go("/operate?tab=limits") },
  { id: "clean-up", name: "Clean up: remove old runs", about: "go", act: () => go("/operate?tab=clean-up") },
  { id: "theme", name: "Light or dark theme", about: "do", act: toggleTheme },
  { id: "zone", name: "Times in UTC or your zone", about: "do", act: toggleUtc },
];

/** What is possible with the open run comes first. What is not possible comes last, and says why. */
function choicesNow(): readonly Choice[] {
  const ofRun = runCommands.value.map(({ id, name, not, act }): Choice => ({
    id: `run ${id}`,
    name,
    about: not ?? "this run",
    act: () => (not === null ? act() : say(not)),
    not,
  }));
  return [...ofRun.filter(({ not }) => not === null), ...actions, ...ofRun.filter(({ not }) => not !== null)];
}

const mostRuns = 8;
const pauseMs = 150;

const choiceOf = ({ runId, workflow, state }: RunItem): Choice => ({
  id: runId,
  name: `${workflow} ${shortId(runId)}`,
  about: stateName(state),
  act: () => go(runPath(runId)),
});

export function Palette(): JSX.Element | null {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      paletteOpen.value = true;
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return paletteOpen.value ? <Open /> : null;
}

const close = (): void => void (paletteOpen.value = false);

function take(choice: Choice): void {
  close();
  choice.act();
}

interface Found {
  readonly text: string;
  readonly runs: readonly Choice[];
}

/** The runs that fit what is typed, once there is a pause, and the text that they fit. */
function useFound(text: string): Signal<Found> {
  const found = useSignal<Found>({ text: "", runs: [] });
  useEffect(() => {
    const { terms, problems } = readSearch(text);
    let isOver = false;
    const shown = (runs: readonly Choice[]): void => {
      if (!isOver) found.value = { text, runs };
    };
    const timer = setTimeout(() => {
      if (problems.length > 0) return shown([]);
      void getRuns({ ...terms, limit: String(mostRuns) }).then(
        ({ runs }) => shown(runs.map(choiceOf)),
        () => shown([]),
      );
    }, pauseMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}

/** What is typed and chosen. All is read from signals when a key comes: the screen may still show the lines of the key before. */
function useChoices() {
  const [text, chosen, wanted] = [useSignal(""), useSignal(0), useSignal(false)];
  const found = useFound(text.value);
  const isFound = (): boolean => found.value.text === text.value;
  const all = (): readonly Choice[] => {
    const words = text.value.toLowerCase();
    return [...choicesNow().filter(({ name }) => name.toLowerCase().includes(words)), ...found.value.runs];
  };
  const at = (): number => Math.min(chosen.value, all().length - 1);
  /** Enter before the runs are there takes the first one of them when they come. */
  const enter = (): void => {
    const choice = all()[at()];
    wanted.value = chosen.value === 0 && !isFound() && !choicesNow().some(({ id }) => id === choice?.id);
    if (choice !== undefined && !wanted.value) take(choice);
  };
  useEffect(() => {
    if (wanted.value && isFound()) enter();
  }, [found.value]);
  const type = (typed: string): void => {
    text.value = typed;
    chosen.value = 0;
    wanted.value = false;
  };
  const move = (step: number): void =>
    void (chosen.value = Math.max(0, Math.min(all().length - 1, at() + step)));
  return { text: text.value, all: all(), at: at(), isFound: isFound(), enter, type, move };
}

function Open(): JSX.Element {
  const { text, all, at, isFound, enter, type, move } = useChoices();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  };
  return (
    <Dialog title="Go to a run, or do something" onClose={close} wide>
      <form
        class="palette"
        onSubmit={(event) => {
          event.preventDefault();
          enter();
        }}
      >
        <input
          role="combobox"
          aria-label="Words of a run, or of an action"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={all[at] === undefined ? undefined : `palette-${at}`}
          autoComplete="off"
          autofocus
          value={text}
          onKeyDown={onKeyDown}
          onInput={(event) => type(event.currentTarget.value)}
        />
        <div id="palette-list" role="listbox" aria-label="Runs and actions">
          {all.map((choice, i) => (
            <div
              key={choice.id}
              id={`palette-${i}`}
              role="option"
              aria-selected={i === at}
              aria-disabled={typeof choice.not === "string"}
              onClick={() => take(choice)}
            >
              <span dir="auto">{choice.name}</span> <small>{choice.about}</small>
            </div>
          ))}
        </div>
        {all.length === 0 && isFound ? <p class="empty">No run or action has these words.</p> : null}
      </form>
    </Dialog>
  );
}
