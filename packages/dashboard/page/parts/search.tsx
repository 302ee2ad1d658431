/** The search box: the text of the filters, and how it may go on, from the data. */

import { readSearch, searchText, type SearchSuggestions } from "@durable/core/inspect";
import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { getSuggestions } from "../lib/api.ts";
import { go, parts, setQuery } from "../lib/router.ts";
import { say } from "../lib/state.ts";
import { addressOf, filters } from "../screens/runs.tsx";

const pauseMs = 120;

export function Search(): JSX.Element {
  const isList = parts.value.length === 0 || (parts.value[0] === "runs" && parts.value.length === 1);
  const shown = isList ? searchText(filters.value) : "";
  return <Box key={shown} shown={shown} isList={isList} />;
}

interface Offer extends SearchSuggestions {
  /** The text that they complete. */
  readonly text: string;
}

interface Typing {
  readonly text: Signal<string>;
  /** The line of the suggestions that is chosen; -1 for none. */
  readonly chosen: Signal<number>;
  readonly isOpen: Signal<boolean>;
  /** Suggestions for the text as it is now: those for one that has changed meanwhile are not offered. */
  readonly offered: () => readonly string[];
  readonly take: (part: string) => void;
  readonly close: () => void;
}

/** What is typed, and how it may go on once there is a pause. */
function useTyping(shown: string): Typing {
  const [text, chosen, isOpen] = [useSignal(shown), useSignal(-1), useSignal(false)];
  const offer = useSignal<Offer | null>(null);
  useEffect(() => {
    if (!isOpen.value) return;
    const typed = text.value;
    let isOver = false;
    const take = (found: SearchSuggestions): void => {
      if (!isOver) offer.value = { ...found, text: typed };
    };
    const timer = setTimeout(() => void getSuggestions(typed).then(take, () => {}), pauseMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text.value, isOpen.value]);
  return {
    text,
    chosen,
    isOpen,
    offered: () => (isOpen.value && offer.value?.text === text.value ? offer.value.parts : []),
    take: (part) => {
      const whole = text.value.slice(0, offer.value?.at ?? 0) + part;
      text.value = /[:>]$/.test(part) ? whole : `${whole} `;
      chosen.value = -1;
    },
    close: () => {
      isOpen.value = false;
      chosen.value = -1;
    },
  };
}

type Key = KeyboardEvent & { readonly currentTarget: HTMLInputElement };

function onKey(event: Key, { offered, chosen, isOpen, take, close }: Typing): void {
  const all = offered();
  const part = all[chosen.value];
  if (event.key === "Escape") return isOpen.value ? close() : event.currentTarget.blur();
  if (event.key === "Tab" && part !== undefined) {
    event.preventDefault();
    return take(part);
  }
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  isOpen.value = true;
  chosen.value = Math.max(-1, Math.min(all.length - 1, chosen.value + step));
}

function Box({ shown, isList }: { readonly shown: string; readonly isList: boolean }): JSX.Element {
  const typing = useTyping(shown);
  const { text, chosen, isOpen, offered, take, close } = typing;
  const apply = (): void => {
    const { terms, problems } = readSearch(text.value);
    if (problems.length > 0) return say(problems.join(" "), true);
    close();
    if (isList) return setQuery(addressOf(terms));
    return go(`/?${new URLSearchParams(Object.entries(terms)).toString()}`);
  };
  const all = offered();
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const part = offered()[chosen.value];
        if (part !== undefined) return take(part);
        apply();
        event.currentTarget.querySelector("input")?.blur();
      }}
    >
      <input
        id="search"
        role="combobox"
        aria-label="Search runs"
        aria-expanded={all.length > 0}
        aria-controls="search-list"
        aria-autocomplete="list"
        aria-activedescendant={chosen.value in all ? `search-${chosen.value}` : undefined}
        placeholder="status:failed tag:customer=42 since:1d words"
        autoComplete="off"
        spellcheck={false}
        value={text.value}
        onFocus={() => (isOpen.value = true)}
        onBlur={close}
        onKeyDown={(event) => onKey(event, typing)}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          chosen.value = -1;
          isOpen.value = true;
        }}
      />
      <kbd class="hide" aria-hidden="true">
        /
      </kbd>
      <Offers all={all} chosen={chosen.value} take={take} />
    </form>
  );
}

interface OffersProps extends Pick<Typing, "take"> {
  readonly all: readonly string[];
  readonly chosen: number;
}

function Offers({ all, chosen, take }: OffersProps): JSX.Element {
  return (
    <div id="search-list" role="listbox" aria-label="How the search may go on" hidden={all.length === 0}>
      {all.map((part, i) => (
        <div
          key={part}
          id={`search-${i}`}
          role="option"
          aria-selected={i === chosen}
          // The box keeps the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            take(part);
          }}
        >
          {part}
        </div>
      ))}
    </div>
  );
}
