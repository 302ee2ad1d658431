/** One call in detail: messages, prompt, output, input, attempts, error; and what can be done from here. */

import type { Plain } from "@durable/core/inspect";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Row, RunPage, StepDetail } from "../../src/api.ts";
import { exported, getStep, listen } from "../lib/api.ts";
import { chatOf, chatOfChunks, type ChatMessage } from "../lib/chat.ts";
import { cost, count, duration, fullTime, plural, turnText } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { Problem, RunLink, type Tab, Tabs } from "./basic.tsx";
import { Chat } from "./chat.tsx";
import { ErrorView } from "./error.tsx";
import { Prompt } from "./prompt.tsx";
import { Value } from "./value.tsx";

export interface StepPanelProps {
  readonly run: RunPage;
  readonly row: Row;
  readonly canFork: boolean;
  readonly onFork: (how: "from" | "edit") => void;
  readonly onAnswer: () => void;
}

export function StepPanel(props: StepPanelProps): JSX.Element {
  const { run, row } = props;
  const chapter = queryOf("chapter");
  // What a settled call recorded does not change; of an open one there may be more.
  const version = row.endedAt === null ? String(run.entries) : "settled";
  const { data, reload } = useLoad(`${run.runId} ${row.key} ${chapter}`, () =>
    getStep(run.runId, row.key, chapter),
  );
  useEffect(() => void reload(), [version]);
  const { value: detail, error } = data.value;
  const streamed = useStream(run, row);
  return (
    <section class="panel" aria-label={`Details of ${row.key}`}>
      <Facts row={row} detail={detail} />
      {error !== null && detail === null && <Problem text={error} onRetry={() => void reload()} />}
      {detail !== null && <Body {...props} detail={detail} streamed={streamed} />}
    </section>
  );
}

/** The chunks of a stream that is being written, as they come. `null` for any other call. */
function useStream({ runId }: RunPage, { key, kind, endedAt }: Row): readonly Plain[] | null {
  const chunks = useSignal<readonly Plain[] | null>(null);
  const isOpen = kind === "stream" && endedAt === null && exported === null;
  useEffect(() => {
    chunks.value = null;
    if (!isOpen) return undefined;
    let all: Plain[] = [];
    let stop = (): void => {};
    stop = listen(`runs/${encodeURIComponent(runId)}/stream?key=${encodeURIComponent(key)}`, {
      // A connection that comes back begins with the first chunk again.
      open: () => (all = []),
      reset: () => (all = []),
      chunk: (chunk) => {
        all.push(chunk as Plain);
        chunks.value = [...all];
      },
      end: () => stop(),
      failed: () => stop(),
    });
    return stop;
  }, [runId, key, isOpen]);
  return isOpen ? chunks.value : null;
}

function Facts({ row, detail }: { row: Row; detail: StepDetail | null }): JSX.Element {
  const { attempts, startedAt, endedAt, firstAt, kind, status, tokens } = row;
  const spend = detail?.spend;
  const models = spend?.usage.map(({ model }) => model).join(", ") ?? "";
  const cached = spend?.usage.reduce((sum, { cachedInputTokens = 0 }) => sum + cachedInputTokens, 0) ?? 0;
  const last = attempts.at(-1);
  return (
    <dl class="kv">
      <dt>{kind}</dt>
      <dd>
        <b class="key">{row.struck === undefined ? row.key : row.name}</b>{" "}
        {attempts.length > 1 && <span class="faint">{plural(attempts.length, "attempt")}</span>}
      </dd>
      {row.turn !== undefined && (
        <>
          <dt>Turn</dt>
          <dd>{turnText(row)}</dd>
        </>
      )}
      <dt>Status</dt>
      <dd>
        {row.fromJournal === true ? "from the journal, not run here" : status}
        {row.edited === true && <span class="tag">edited</span>}
        {row.struck !== undefined && <span class="tag">before the retry of {fullTime(row.struck)}</span>}
      </dd>
      <dt>Started</dt>
      <dd title={fullTime(startedAt)}>
        {fullTime(startedAt)}{" "}
        {endedAt !== null && <span class="faint">took {duration(endedAt - startedAt)}</span>}
      </dd>
      {firstAt !== undefined && last !== undefined && endedAt !== null && (
        <>
          <dt>First token</dt>
          <dd>after {duration(Math.max(0, firstAt - last.startedAt))}</dd>
        </>
      )}
      {tokens !== undefined && spend !== undefined && (
        <>
          <dt>Tokens</dt>
          <dd>
            {count(spend.inputTokens)} in
            {cached > 0 && <span class="faint"> ({count(cached)} cached)</span>}, {count(spend.outputTokens)}{" "}
            out{spend.cost === null ? "" : `, ${cost(spend.cost)}`} <span class="faint">{models}</span>
          </dd>
        </>
      )}
      {row.child !== undefined && (
        <>
          <dt>Child</dt>
          <dd>
            {row.workflow} <RunLink runId={row.child} />
          </dd>
        </>
      )}
    </dl>
  );
}

type BodyProps = StepPanelProps & { readonly detail: StepDetail; readonly streamed: readonly Plain[] | null };

function Body(props: BodyProps): JSX.Element {
  const { row, detail, streamed } = props;
  const chunks = streamed ?? detail.chunks;
  const messages = chunks === undefined ? chatOf(detail.value) : chatOfChunks(chunks);
  const tabs = tabsOf(row, detail, messages);
  const asked = queryOf("panel");
  const chosen = tabs.some(({ id }) => id === asked) ? asked : (tabs[0]?.id ?? "");
  return (
    <>
      <Tabs tabs={tabs} chosen={chosen} onChoose={(panel) => setQuery({ panel })} label="Parts of the call" />
      <div class="pane" role="tabpanel" aria-label={chosen}>
        <Pane {...props} chosen={chosen} messages={messages} chunks={chunks} />
        <Buttons {...props} />
      </div>
    </>
  );
}

const has = (id: string, name: string, isThere: boolean): Tab[] => (isThere ? [{ id, name }] : []);

function tabsOf(row: Row, detail: StepDetail, messages: readonly ChatMessage[]): Tab[] {
  const isWork = row.kind === "step" || row.kind === "stream";
  return [
    ...has("error", "Error", "error" in detail),
    ...has("chat", "Chat", messages.length > 0),
    ...has("prompt", "Prompt", detail.prompt !== undefined),
    ...has("output", row.kind === "suspend" ? "Answer" : "Output", "value" in detail && row.endedAt !== null),
    ...has("chunks", `Chunks ${row.chunks ?? ""}`, detail.chunks !== undefined),
    ...has("note", "Asked", "note" in detail),
    ...has("schema", "Schema", "schema" in detail && detail.schema !== null),
    ...has("attempts", `Attempts ${row.attempts.length}`, isWork && row.attempts.length > 0),
    ...has("none", "About", !isWork && !("value" in detail) && !("note" in detail) && !("error" in detail)),
  ];
}

type PaneProps = BodyProps & {
  readonly chosen: string;
  readonly messages: readonly ChatMessage[];
  readonly chunks: readonly Plain[] | undefined;
};

function Pane({ row, detail, chosen, messages, chunks, streamed }: PaneProps): JSX.Element {
  switch (chosen) {
    case "error":
      return <ErrorView error={detail.error ?? null} />;
    case "chat":
      return <Chat messages={messages} live={streamed !== null} />;
    case "prompt":
      return <Prompt key={row.key} prompt={detail.prompt ?? null} />;
    case "output":
      return <Value value={detail.value ?? null} label="the output" />;
    case "chunks":
      return <Value value={[...(chunks ?? [])]} label="the chunks" />;
    case "note":
      return <Value value={detail.note ?? null} label="the note" />;
    case "schema":
      return <Value value={detail.schema ?? null} label="the schema" />;
    case "attempts":
      return <Attempts row={row} detail={detail} />;
    default:
      return <p class="soft">{aboutOf(row)}</p>;
  }
}

function aboutOf({ kind, until, branches }: Row): string {
  if (kind === "sleep") return until === undefined ? "A sleep." : `Sleeps until ${fullTime(until)}.`;
  if (kind === "child") return "A run of its own. Its end is recorded here.";
  const names = Array.isArray(branches) ? `: ${(branches as readonly string[]).join(", ")}` : "";
  return kind === "branch" ? "One strand of concurrent work." : `Branches that run side by side${names}.`;
}

function Attempts({ row, detail }: { row: Row; detail: StepDetail }): JSX.Element {
  return (
    <ol class="attempts">
      {row.attempts.map((attempt, i) => {
        const error = detail.attempts[i]?.error;
        const next = row.attempts[i + 1];
        return (
          <li key={attempt.number}>
            <p>
              <b>Attempt {attempt.number}</b>{" "}
              <span class={attempt.failed === undefined ? "done" : "fail"}>
                {attempt.failed === undefined ? (attempt.endedAt === null ? "runs" : "succeeded") : "failed"}
              </span>{" "}
              <span class="faint">
                {attempt.endedAt !== null && `after ${duration(attempt.endedAt - attempt.startedAt)}`}
                {attempt.retryAt !== undefined &&
                  next === undefined &&
                  `, next attempt at ${fullTime(attempt.retryAt)}`}
                {next !== undefined &&
                  attempt.endedAt !== null &&
                  `, then a pause of ${duration(next.startedAt - attempt.endedAt)}`}
              </span>
            </p>
            {error !== undefined && <ErrorView error={error} />}
          </li>
        );
      })}
    </ol>
  );
}

function Buttons({ row, run, canFork, onFork, onAnswer }: BodyProps): JSX.Element | null {
  if (exported !== null) return null;
  const isCall = row.kind !== "branch" && row.kind !== "parallel" && row.kind !== "race";
  const hasOutput =
    row.kind === "step" || row.kind === "stream" || row.kind === "suspend" || row.kind === "child";
  const waits = run.waits.some(
    ({ key, answered, topic }) => key === row.key && !answered && topic === undefined,
  );
  if (!canFork && !waits) return null;
  return (
    <div class="buttons">
      {waits && (
        <button type="button" class="btn p" onClick={onAnswer}>
          Answer
        </button>
      )}
      {canFork && isCall && (
        <button type="button" class="btn" onClick={() => onFork("from")}>
          Fork from here
        </button>
      )}
      {canFork && hasOutput && (
        <button type="button" class="btn" onClick={() => onFork("edit")}>
          Edit output and re-run
        </button>
      )}
    </div>
  );
}
