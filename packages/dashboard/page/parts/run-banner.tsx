/** What a person has to know of a run first: its error, what it asks, why it does not go on, and where it comes from. */

import type { Plain } from "@durable/core/inspect";
import type { ComponentChildren, JSX } from "preact";
import { useSignal } from "@preact/signals";
import type { RunPage, Wait } from "../../src/api.ts";
import { exported, postAnswer } from "../lib/api.ts";
import { decisionOf, fieldOf, takesYesOrNo } from "../lib/form.ts";
import { clock, cost, duration, plural } from "../lib/format.ts";
import { diffPath, setQuery } from "../lib/router.ts";
import { messageOf, say } from "../lib/state.ts";
import { failedRow, undoneIn } from "../lib/story.ts";
import type { Tries } from "../lib/rows.ts";
import { wordsOf } from "./answer-fields.tsx";
import { Link, RunLink } from "./basic.tsx";
import { ErrorView } from "./error.tsx";
import { timeOf } from "./run-head.tsx";
import { triesIn } from "./run-tabs.tsx";
import { LongText, textOf } from "./value.tsx";

interface BannersProps {
  readonly run: RunPage;
  readonly canAct: boolean;
  readonly onAnswer: (key: string) => void;
  readonly onChange: () => void;
}

interface BannerProps {
  readonly is: "bad" | "wait" | "block" | "undo" | "plain";
  readonly alert?: boolean;
  readonly label: string;
  readonly children: ComponentChildren;
  readonly side?: ComponentChildren;
}

function Banner({ is, alert = false, label, children, side }: BannerProps): JSX.Element {
  return (
    <div class={`ban ${is}`} role={alert ? "alert" : "group"} aria-label={label}>
      <div>{children}</div>
      {side !== undefined && <div class="side">{side}</div>}
    </div>
  );
}

export function Banners(props: BannersProps): JSX.Element {
  const { run } = props;
  return (
    <>
      {run.status === "failed" && <Failure run={run} />}
      {run.status === "cancelled" && typeof run.error === "string" && (
        <Banner is="plain" label="Why it was cancelled">
          <strong>{run.error}</strong>
        </Banner>
      )}
      {run.blocked !== null && (
        <Banner is="block" alert label="Why it is blocked">
          <strong>Blocked</strong> <span class="tag">{run.blocked.code}</span>
          <p>{run.blocked.message}</p>
        </Banner>
      )}
      <Retried run={run} />
      {run.losses.slice(-lossesShown).map(({ at, from, to, steps }) => (
        <Banner key={at} is="wait" label="It lost batches">
          <strong class="small">Lost batches</strong>
          <p>
            The storage had lost the last {from - to} of {from} batches. The run went on from the others at{" "}
            {clock(at, timeOf(run))}
            {steps.length > 0 && `, and asks for the outcome of ${steps.join(", ")}`}
          </p>
        </Banner>
      ))}
      {run.undoing !== null && (
        <Banner is="undo" label="It takes back what it did">
          <strong>{run.undoing.status === "cancelled" ? "Cancelling" : "Failing"}</strong> since{" "}
          {clock(run.undoing.since, timeOf(run))}
          <p>Its clean-ups and compensations run.</p>
        </Banner>
      )}
      {run.paused !== null && (
        <Banner is="wait" label="It is paused">
          <strong>Paused</strong> since {clock(run.paused.since, timeOf(run))}
          {typeof run.paused.reason === "string" && `: ${run.paused.reason}`}
          <p>Answers and messages are recorded.</p>
        </Banner>
      )}
      {openWaits(run).map((wait) => (
        <Question key={wait.key} {...props} wait={wait} />
      ))}
      <Origin run={run} />
    </>
  );
}

/** How many losses have a banner. */
const lossesShown = 3;
/** How many waits have a banner; all of them are in the timeline. */
const waitsShown = 3;

function openWaits(run: RunPage): Wait[] {
  return run.waits
    .filter(({ answered, topic }) => !answered && topic === undefined)
    .toSorted((a, b) => (a.expiresAt ?? Infinity) - (b.expiresAt ?? Infinity))
    .slice(0, waitsShown);
}

type Fields = Readonly<Record<string, Plain>>;

function fieldsOf(value: Plain | undefined): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** The message that explains the others: that of the innermost cause. */
export function rootMessage(error: Plain | undefined): string {
  let message = "";
  let at = fieldsOf(error);
  for (let depth = 0; at !== null && depth < 16; depth++) {
    const own = at["message"];
    if (typeof own === "string" && own !== "") message = own;
    at = fieldsOf(at["cause"]);
  }
  if (message !== "") return message;
  return typeof error === "string" ? error : JSON.stringify(error ?? null);
}

function Failure({ run }: { readonly run: RunPage }): JSX.Element {
  const isOpen = useSignal(false);
  const row = failedRow(run);
  const done = undoneIn(run);
  const root = rootMessage(run.error);
  return (
    <Banner
      is="bad"
      alert
      label="Why it failed"
      side={
        row !== undefined && (
          <button
            type="button"
            class="btn"
            onClick={() => setQuery({ step: row.key, in: null, panel: null })}
          >
            Show {row.name}
          </button>
        )
      }
    >
      <strong>
        <LongText text={root} />
      </strong>
      {done === true && <p>What it had done was taken back.</p>}
      {done === false && <p>Not all of what it had done was taken back.</p>}
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary class="soft">All of the error, with its causes</summary>
        {isOpen.value && <ErrorView error={run.error ?? null} />}
      </details>
    </Banner>
  );
}

const triesNames: Readonly<Record<Tries, string>> = { old: "Before", new: "Since", both: "Both" };

function Retried({ run }: { readonly run: RunPage }): JSX.Element | null {
  const last = run.retries.at(-1);
  if (last === undefined) return null;
  const struck = run.rows.filter((row) => row.struck !== undefined);
  const price = cost(struck.reduce((sum, row) => sum + (row.cost ?? 0), 0));
  const chosen = triesIn();
  const earlier = run.retries.length - 1;
  return (
    <Banner
      is="wait"
      label="It was retried"
      side={
        struck.length > 0 && (
          <fieldset class="seg">
            <legend class="vh">Which tries the timeline shows</legend>
            {(["old", "new", "both"] as const).map((id) => (
              <label key={id} class={chosen === id ? "on" : ""}>
                <input
                  type="radio"
                  name="tries"
                  checked={chosen === id}
                  onChange={() => setQuery({ tries: id === "both" ? null : id })}
                />
                {triesNames[id]}
              </label>
            ))}
          </fieldset>
        )
      }
    >
      <strong class="small">
        Retried at {clock(last.at, timeOf(run))}
        {last.problem !== undefined && ` after ${last.problem}`}
      </strong>
      <p>
        {earlier > 0 && `It was retried ${plural(earlier, "time")} before that. `}
        {struck.length === 0
          ? "Nothing was struck."
          : `What was struck is shown hatched${price === "" ? "" : `, its cost of ${price} counts`}.`}
        {last.row !== null && (
          <>
            {" "}
            <button
              type="button"
              class="link"
              onClick={() => setQuery({ step: last.row, tab: null, tries: null })}
            >
              show
            </button>
          </>
        )}
      </p>
    </Banner>
  );
}

const questionNames = ["question", "title", "prompt", "message", "ask"];

/** What a wait asks, and the facts beside the question. */
export function questionOf({ note, name }: Pick<Wait, "note" | "name">): {
  readonly question: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
} {
  if (typeof note === "string" && note !== "") return { question: note, facts: [] };
  const fields = fieldsOf(note) ?? {};
  const found = questionNames.find((key) => typeof fields[key] === "string" && fields[key] !== "");
  const facts = Object.entries(fields)
    .filter(([key, value]) => key !== found && value !== null && typeof value !== "object")
    .slice(0, 6)
    .map(([key, value]) => [key, textOf(value)] as const);
  return { question: found === undefined ? `Answer ${name}` : textOf(fields[found] ?? ""), facts };
}

type QuestionProps = BannersProps & { readonly wait: Wait };

/** Yes and No where that is a whole answer; the form for all others. */
function Answers({ run, wait, onAnswer, onChange }: QuestionProps): JSX.Element {
  const busy = useSignal(false);
  const decision = takesYesOrNo(wait.schema) ? decisionOf(fieldOf(wait.schema)) : null;
  const isTwo = decision !== null;
  const [yes, no] = isTwo ? wordsOf(decision.field) : [];
  const answer = async (value: boolean): Promise<void> => {
    busy.value = true;
    try {
      say((await postAnswer(run.runId, wait.key, value)).message);
    } catch (error) {
      say(messageOf(error), true);
    }
    busy.value = false;
    onChange();
  };
  const button = (name: string, value: boolean): JSX.Element => (
    <button
      type="button"
      class={value ? "btn p" : "btn"}
      disabled={busy.value}
      onClick={() => void answer(value)}
    >
      {name}
    </button>
  );
  return (
    <>
      {yes !== undefined && button(yes, true)}
      {no !== undefined && button(no, false)}
      <button type="button" class={isTwo ? "btn" : "btn p"} onClick={() => onAnswer(wait.key)}>
        Answer
      </button>
    </>
  );
}

function Question(props: QuestionProps): JSX.Element {
  const { run, wait, canAct } = props;
  const { question, facts } = questionOf(wait);
  const time = timeOf(run);
  const all: readonly (readonly [name: string, value: string])[] = [
    ...facts,
    ["Open for", duration(time - wait.openedAt)],
    ...(wait.expiresAt === null ? [] : [["Expires", clock(wait.expiresAt, time)] as const]),
  ];
  return (
    <Banner is="wait" label={`What ${wait.name} asks`} side={canAct && <Answers {...props} />}>
      <strong>
        <LongText text={question} />
      </strong>
      <dl class="facts">
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <LongText text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </Banner>
  );
}

function Origin({ run }: { readonly run: RunPage }): JSX.Element | null {
  const { lineage, parentRun, totals } = run;
  if (parentRun === null) return null;
  const isFork = lineage !== null && lineage.parent !== null;
  const at = isFork
    ? [...lineage.from, ...lineage.after, ...lineage.edited.map((key) => `${key} (edited)`)]
    : [];
  return (
    <Banner
      is="plain"
      label="Where it comes from"
      side={
        isFork &&
        exported === null && (
          <Link to={diffPath(parentRun, run.runId)} class="link">
            Compare with its parent
          </Link>
        )
      }
    >
      {isFork ? "Fork of" : "Child of"} <RunLink runId={parentRun} />
      {lineage?.label !== null && lineage?.label !== undefined && <span class="tag">{lineage.label}</span>}
      {at.length > 0 && <span> at {at.join(", ")}. </span>}
      {isFork && (
        <span class="soft">
          {totals.fromJournal} of {plural(totals.settled, "call")} came from the journal.
        </span>
      )}
    </Banner>
  );
}
