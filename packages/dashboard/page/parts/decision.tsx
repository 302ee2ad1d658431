/** One run that waits for an answer: what it asks, what it knows, and the form. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Plain } from "@durable/core/inspect";
import type { InboxItem, Wait } from "../../src/api.ts";
import { getWaits } from "../lib/api.ts";
import { duration, fullTime, timeLeft } from "../lib/format.ts";
import { inWords } from "../lib/form.ts";
import { useLoad } from "../lib/hooks.ts";
import { hrefOf, queryOf, runPath, setQuery } from "../lib/router.ts";
import { copy, now, session } from "../lib/state.ts";
import { AnswerForm } from "./answer-form.tsx";
import { Link, Problem, TagLink } from "./basic.tsx";
import { LongText, Value } from "./value.tsx";

interface DecisionProps {
  readonly item: InboxItem;
  /** Called with the run once all of its questions were answered here. */
  readonly onDone: (runIds: readonly string[]) => void;
  readonly onNext: () => void;
}

interface Shown {
  readonly waits: readonly Wait[];
  /** The question that is open, also one that somebody else has answered since. */
  readonly wait: Wait | undefined;
  readonly isGone: boolean;
  readonly answered: () => void;
}

const nameOf = ({ key, openedAt }: Wait): string => `${key} ${openedAt}`;

/** A run may ask several things: the one that is open stays, whatever happens to it and to the others. */
function useShown(all: readonly Wait[]): Shown {
  const held = useRef<{ wait: Wait | undefined; mine: ReadonlySet<string> }>({
    wait: undefined,
    mine: new Set(),
  }).current;
  const asked = queryOf("key");
  const waits = all.filter((wait) => !held.mine.has(nameOf(wait)));
  if (asked !== "" && held.wait?.key !== asked) held.wait = undefined;
  const open =
    asked === "" && held.wait === undefined
      ? waits[0]
      : waits.find(({ key }) => key === (asked || held.wait?.key));
  held.wait = open ?? held.wait;
  const { wait } = held;
  return {
    waits,
    wait,
    isGone: open === undefined,
    answered: () => {
      if (wait !== undefined) held.mine = new Set([...held.mine, nameOf(wait)]);
      held.wait = undefined;
      if (asked !== "") setQuery({ key: null });
    },
  };
}

export function Decision({ item, onDone, onNext }: DecisionProps): JSX.Element {
  const { data, reload } = useLoad(item.runId, () => getWaits(item.runId));
  const { value, error } = data.value;
  const last = useRef(item);
  useEffect(() => {
    if (item.since !== last.current.since || item.count !== last.current.count) void reload();
    last.current = item;
  }, [item.since, item.count]);
  const shown = useShown(value?.waits ?? []);
  const { waits, wait, isGone, answered } = shown;
  if (wait === undefined)
    return (
      <section class="inbox-detail" aria-label="The decision">
        {error !== null ? (
          <Problem text={error} onRetry={() => void reload()} />
        ) : value === null ? (
          <p class="soft pane">Reading the question…</p>
        ) : (
          <Gone text="This question no longer waits for an answer." waits={waits} onNext={onNext} />
        )}
      </section>
    );
  const done = (): void => {
    answered();
    onDone(waits.length <= 1 ? [item.runId] : []);
    void reload();
  };
  return <Open item={item} waits={waits} wait={wait} isGone={isGone} onDone={done} onNext={onNext} />;
}

function Gone(props: {
  readonly text: string;
  readonly waits: readonly Wait[];
  readonly onNext: () => void;
}): JSX.Element {
  const { text, waits, onNext } = props;
  return (
    <div class="pane gone" role="status">
      <p>{text}</p>
      {waits.length > 0 && <Others waits={waits} chosen={null} />}
      <button type="button" class="btn" onClick={onNext}>
        Go on with the next
      </button>
    </div>
  );
}

interface OpenProps {
  readonly item: InboxItem;
  readonly waits: readonly Wait[];
  readonly wait: Wait;
  readonly isGone: boolean;
  readonly onDone: () => void;
  readonly onNext: () => void;
}

function Open({ item, waits, wait, isGone, onDone, onNext }: OpenProps): JSX.Element {
  const { readOnly = true, code = [] } = session.value ?? {};
  const question = questionIn(wait.note);
  return (
    <section class="inbox-detail" aria-label={`Wait ${wait.key}`}>
      {isGone && (
        <Gone
          text="This question was answered meanwhile, or its time ended. Nothing was sent from here; what you typed is below."
          waits={waits}
          onNext={onNext}
        />
      )}
      <div class="decision-head">
        <h2 dir="auto">{question ?? inWords(wait.name)}</h2>
        <About item={item} wait={wait} />
        {waits.length > 1 && !isGone && <Others waits={waits} chosen={wait} />}
      </div>
      <Note note={wait.note} question={question} />
      {readOnly ? (
        <p class="pane soft">This page is read-only.</p>
      ) : (
        <AnswerForm
          key={wait.key}
          runId={item.runId}
          wait={wait}
          canFork={code.includes(item.workflow)}
          onDone={onDone}
          isOver={isGone}
          hasKeys
        />
      )}
    </section>
  );
}

function About({ item, wait }: { item: InboxItem; wait: Wait }): JSX.Element {
  return (
    <p>
      <Until wait={wait} />{" "}
      <Link to={`${runPath(item.runId)}?step=${encodeURIComponent(wait.key)}`} class="link">
        {item.workflow} <span class="id">{item.runId}</span>
      </Link>{" "}
      <span class="id">{wait.key}</span>{" "}
      {Object.entries(item.tags).map(([name, value]) => (
        <TagLink key={name} name={name} value={value} />
      ))}{" "}
      <span class="faint">waiting {duration(now.value - wait.openedAt)}</span>{" "}
      <button
        type="button"
        class="quiet"
        onClick={() => void copy(addressOf(item, wait), "the link to this decision")}
      >
        copy link
      </button>
    </p>
  );
}

const addressOf = ({ runId }: InboxItem, { key }: Wait): string =>
  `${window.location.origin}${hrefOf(`/inbox?${new URLSearchParams({ run: runId, key }).toString()}`)}`;

function Until({ wait: { expiresAt } }: { wait: Wait }): JSX.Element {
  if (expiresAt === null) return <span class="st waits">no time limit</span>;
  const left = expiresAt - now.value;
  return (
    <>
      <span class={`st ${left <= 3_600_000 ? "fail" : "waits"}`}>{timeLeft(left)}</span>{" "}
      <span class="soft">until {fullTime(expiresAt)}</span>
    </>
  );
}

/** A run may ask several things at the same time. */
function Others({ waits, chosen }: { waits: readonly Wait[]; chosen: Wait | null }): JSX.Element {
  return (
    <div class="chips" role="group" aria-label="Questions of this run">
      {waits.map(({ key, name }) => (
        <button
          key={key}
          type="button"
          class={`chip ${key === chosen?.key ? "on" : ""}`}
          aria-pressed={key === chosen?.key}
          title={key}
          onClick={() => setQuery({ key })}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

type Fields = Readonly<Record<string, Plain>>;

const asFields = (note: Plain): Fields | null =>
  typeof note === "object" && note !== null && !Array.isArray(note) ? (note as Fields) : null;

const questionNames = ["question", "title", "summary", "message"] as const;
const longestQuestion = 200;

/** A note that is a text, or has one, is the question. */
export function questionIn(note: Plain): string | null {
  if (typeof note === "string")
    return note.length <= longestQuestion ? note : `${note.slice(0, longestQuestion)}…`;
  const fields = asFields(note) ?? {};
  const text = questionNames.map((name) => fields[name]).find((each) => typeof each === "string");
  return typeof text === "string" && text.length <= longestQuestion ? text : null;
}

const shortFact = 60;

/** Short facts in cells, texts as texts, and the rest as it is. */
function Note({ note, question }: { note: Plain; question: string | null }): JSX.Element | null {
  const { facts, texts, rest } = useMemo(() => partsOf(note, question), [note, question]);
  if (facts.length + texts.length + rest.length === 0) return null;
  return (
    <div class="note">
      {facts.length > 0 && (
        <dl class="note-facts">
          {facts.map(([name, text]) => (
            <div key={name}>
              <dt>{inWords(name)}</dt>
              <dd dir="auto">{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {texts.map(([name, text]) => (
        <p key={name} class="pane" dir="auto">
          {name !== "" && <b>{inWords(name)}: </b>}
          <LongText text={text} />
        </p>
      ))}
      {rest.map(([name, value]) => (
        <div key={name} class="pane">
          {name !== "" && <h3>{inWords(name)}</h3>}
          <Value value={value} label={name === "" ? "the note" : name} />
        </div>
      ))}
    </div>
  );
}

interface NoteParts {
  readonly facts: (readonly [string, string])[];
  readonly texts: (readonly [string, string])[];
  readonly rest: (readonly [string, Plain])[];
}

function partsOf(note: Plain, question: string | null): NoteParts {
  const parts: NoteParts = { facts: [], texts: [], rest: [] };
  if (note === null || note === question) return parts;
  if (typeof note === "string") return { ...parts, texts: [["", note]] };
  const fields = asFields(note);
  if (fields === null) return { ...parts, rest: [["", note]] };
  for (const [name, value] of Object.entries(fields)) {
    if (value === question && (questionNames as readonly string[]).includes(name)) continue;
    if (typeof value === "object" && value !== null) parts.rest.push([name, value]);
    else if (String(value).length <= shortFact) parts.facts.push([name, String(value ?? "none")]);
    else parts.texts.push([name, String(value)]);
  }
  return parts;
}
