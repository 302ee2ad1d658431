/** One run that waits for an answer: what it asks, what it knows, and the form. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
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
  readonly onDone: () => void;
}

export function Decision({ item, onDone }: DecisionProps): JSX.Element {
  const { data, reload } = useLoad(`${item.runId} ${item.since} ${item.count}`, () => getWaits(item.runId));
  const { value, error } = data.value;
  const waits = value?.waits ?? [];
  const wait = waits.find(({ key }) => key === queryOf("key")) ?? waits[0];
  if (wait === undefined)
    return (
      <section class="inbox-detail" aria-label="The decision">
        {error !== null ? (
          <Problem text={error} onRetry={() => void reload()} />
        ) : (
          <p class="soft pane">
            {value === null ? "Reading the question…" : "This run no longer waits for an answer."}
          </p>
        )}
      </section>
    );
  return <Open item={item} waits={waits} wait={wait} onDone={onDone} />;
}

function Open({
  item,
  waits,
  wait,
  onDone,
}: DecisionProps & { waits: readonly Wait[]; wait: Wait }): JSX.Element {
  const { readOnly = true, code = [] } = session.value ?? {};
  const question = questionIn(wait.note);
  return (
    <section class="inbox-detail" aria-label={`Wait ${wait.key}`}>
      <div class="decision-head">
        <h2 dir="auto">{question ?? inWords(wait.name)}</h2>
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
        {waits.length > 1 && <Others waits={waits} chosen={wait} />}
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
          hasKeys
        />
      )}
    </section>
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
function Others({ waits, chosen }: { waits: readonly Wait[]; chosen: Wait }): JSX.Element {
  return (
    <div class="chips" role="group" aria-label="Questions of this run">
      {waits.map(({ key, name }) => (
        <button
          key={key}
          type="button"
          class={`chip ${key === chosen.key ? "on" : ""}`}
          aria-pressed={key === chosen.key}
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
