/** One call in detail: messages, prompt, output, input, attempts, error; and what can be done from here. */

import type { Plain } from "@durable/core/inspect";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Row, RunPage, StepDetail } from "../../src/api.ts";
import { exported, getStep, listen } from "../lib/api.ts";
import { chatOf, chatOfChunks, type ChatMessage } from "../lib/chat.ts";
import { clock, count, duration, fullTime, plural, turnText, zoneName } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { reachedIn } from "../lib/story.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { now } from "../lib/state.ts";
import { Problem, RunLink, type Tab, Tabs } from "./basic.tsx";
import { Chat } from "./chat.tsx";
import { ErrorView } from "./error.tsx";
import { Prompt, systemIn } from "./prompt.tsx";
import { PromptFork } from "./prompt-fork.tsx";
import { callsIn, Raw, Tools, toolsOf, Usage } from "./model-call.tsx";
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
  // What a settled call recorded does not change. Of an open one there may be more; what a stream says comes by itself.
  const open = row.kind === "stream" ? `attempt ${row.attempts.length}` : String(run.entries);
  const version = row.endedAt === null ? open : "settled";
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
      {detail === null && error === null && <p class="pane soft">Reading the call…</p>}
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

/** What the call is, in two lines. */
function Facts({ row, detail }: { row: Row; detail: StepDetail | null }): JSX.Element {
  const { attempts, startedAt, endedAt, firstAt, kind, status, struck } = row;
  const last = attempts.at(-1);
  const isRunning = struck === undefined && endedAt === null && last?.endedAt === null;
  const models = [...new Set(detail?.spend.usage.map(({ model }) => model) ?? [])].join(", ");
  const word = isRunning ? (attempts.length > 1 ? `attempt ${last?.number}` : "runs now") : status;
  return (
    <div class="facts-head">
      <div>
        <h2 class="key">{struck === undefined ? row.key : row.name}</h2>
        <span class={`st ${stateClass(row, isRunning)}`}>{word}</span>
        <span class="faint">
          {kind}
          {models !== "" && `, ${models}`}
        </span>
        {row.edited === true && <span class="tag">✎ edited</span>}
        {struck !== undefined && <span class="tag">before the retry of {fullTime(struck)}</span>}
      </div>
      <div class="soft" title={fullTime(startedAt)}>
        {[
          row.fromJournal === true ? "from the journal, not run here" : "",
          row.turn === undefined ? "" : turnText(row),
          `began ${clock(startedAt, now.value)} ${zoneName(startedAt)}`,
          endedAt === null
            ? `for ${duration(now.value - startedAt)}`
            : `took ${duration(endedAt - startedAt)}`,
          firstAt !== undefined && last !== undefined
            ? `first token after ${duration(Math.max(0, firstAt - last.startedAt))}`
            : "",
          speedOf(row, detail),
          tokensOf(detail),
          attempts.length > 1 ? plural(attempts.length, "attempt") : "",
        ]
          .filter(Boolean)
          .join(", ")}
      </div>
      {reachedIn(row) !== null && <div class="soft" dir="auto">{`has reached ${reachedIn(row)}`}</div>}
      {row.child !== undefined && (
        <div class="soft">
          {row.workflow} <RunLink runId={row.child} />
        </div>
      )}
    </div>
  );
}

function stateClass({ status, struck }: Row, isRunning: boolean): string {
  if (struck !== undefined || status === "closed" || status === "registered") return "gone";
  if (isRunning) return "runs";
  return status === "completed" ? "done" : status === "failed" || status === "expired" ? "fail" : "waits";
}

/** Tokens of the answer per second, from the first one on. */
function speedOf({ firstAt, endedAt }: Row, detail: StepDetail | null): string {
  const out = detail?.spend.outputTokens ?? 0;
  if (firstAt === undefined || endedAt === null || out === 0 || endedAt - firstAt < 100) return "";
  return `${Math.round((out / (endedAt - firstAt)) * 1_000)} tokens/s`;
}

function tokensOf(detail: StepDetail | null): string {
  const { inputTokens = 0, outputTokens = 0, usage = [] } = detail?.spend ?? {};
  if (inputTokens + outputTokens === 0) return "";
  const cached = usage.reduce((sum, { cachedInputTokens = 0 }) => sum + cachedInputTokens, 0);
  return `${count(inputTokens)} in${cached > 0 ? ` (${count(cached)} cached)` : ""}, ${count(outputTokens)} out`;
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

/** True for a call of a language model: its parts have tabs of their own. */
function isModelCall(
  { turn }: Row,
  { prompt, spend }: StepDetail,
  messages: readonly ChatMessage[],
): boolean {
  return turn !== undefined || prompt !== undefined || (messages.length > 0 && spend.usage.length > 0);
}

function tabsOf(row: Row, detail: StepDetail, messages: readonly ChatMessage[]): Tab[] {
  const isWork = row.kind === "step" || row.kind === "stream";
  const attempts = has("attempts", `Attempts ${row.attempts.length}`, isWork && row.attempts.length > 0);
  if (isModelCall(row, detail, messages)) {
    const calls = callsIn(messages).length;
    const tools = toolsOf(detail.prompt);
    return [
      ...has("error", "Error", "error" in detail),
      ...has("prompt", "Prompt", detail.prompt !== undefined),
      ...has("chat", "Answer", messages.length > 0),
      ...has("tools", calls === 0 ? "Tools" : `Tools ${calls}`, calls > 0 || tools.length > 0),
      ...has("usage", "Usage", detail.spend.usage.length > 0),
      ...attempts,
      { id: "raw", name: "Raw" },
    ];
  }
  return [
    ...has("error", "Error", "error" in detail),
    ...has("chat", "Chat", messages.length > 0),
    ...has("output", row.kind === "suspend" ? "Answer" : "Output", "value" in detail && row.endedAt !== null),
    ...has("chunks", `Chunks ${row.chunks ?? ""}`, detail.chunks !== undefined),
    ...has("note", "Asked", "note" in detail),
    ...has("schema", "Schema", "schema" in detail && detail.schema !== null),
    ...has("usage", "Usage", detail.spend.usage.length > 0),
    ...attempts,
    ...has("none", "About", !isWork && !("value" in detail) && !("note" in detail) && !("error" in detail)),
  ];
}

type PaneProps = BodyProps & {
  readonly chosen: string;
  readonly messages: readonly ChatMessage[];
  readonly chunks: readonly Plain[] | undefined;
};

function Pane(props: PaneProps): JSX.Element {
  const { run, row, canFork, detail, chosen, messages, chunks, streamed } = props;
  const source = { runId: run.runId, key: row.key };
  const system = systemIn(detail.prompt);
  switch (chosen) {
    case "error":
      return <ErrorView error={detail.error ?? null} />;
    case "chat":
      return <Chat messages={messages} live={streamed !== null} />;
    case "prompt":
      return (
        <>
          <Prompt key={row.key} prompt={detail.prompt ?? null} />
          {canFork && system !== null && (
            <PromptFork key={`${row.key} fork`} runId={run.runId} stepKey={row.key} system={system} />
          )}
        </>
      );
    case "tools":
      return <Tools messages={messages} prompt={detail.prompt} />;
    case "usage":
      return <Usage row={row} spend={detail.spend} />;
    case "raw":
      return <Raw row={row} detail={detail} chunks={chunks} source={source} />;
    case "output":
      return (
        <Value
          value={detail.value ?? null}
          label="the output"
          source={{ ...source, field: "value" }}
          cuts={detail.cuts}
        />
      );
    case "chunks":
      return (
        <Value
          value={[...(chunks ?? [])]}
          label="the chunks"
          source={{ ...source, field: "chunks" }}
          cuts={detail.cuts}
        />
      );
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
