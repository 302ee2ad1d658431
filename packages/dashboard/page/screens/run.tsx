/** One run: where it is, what it did, and what can be done with it. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Row, RunPage, Wait } from "../../src/api.ts";
import { exported, getRun, watch } from "../lib/api.ts";
import { useKeys, useLoad, useThrottle } from "../lib/hooks.ts";
import { go, queryOf, setQuery } from "../lib/router.ts";
import { now, session, setServerTime } from "../lib/state.ts";
import { AnswerForm } from "../parts/answer-form.tsx";
import { Dialog, Problem, type Tab, Tabs } from "../parts/basic.tsx";
import { ForkDialog, type How } from "../parts/fork-dialog.tsx";
import { JournalView } from "../parts/journal.tsx";
import { Lineage, RunHead, Stats } from "../parts/run-head.tsx";
import { RunPanel } from "../parts/run-panel.tsx";
import { Split } from "../parts/split.tsx";
import { StepPanel } from "../parts/step-panel.tsx";
import { ForkTree } from "../parts/tree.tsx";
import { Value } from "../parts/value.tsx";
import { compact, openRows, Waterfall } from "../parts/waterfall.tsx";

export function RunScreen({ runId }: { runId: string }): JSX.Element {
  const chapter = queryOf("chapter");
  const { data, reload } = useLoad(`${runId} ${chapter}`, async () => {
    const run = await getRun(runId, chapter);
    if (exported === null) setServerTime(run.now);
    return run;
  });
  const { value: run, error } = data.value;
  // A run that grows fast is read at most this often.
  const refresh = useThrottle(reload, (run?.rows.length ?? 0) > 2_000 ? 2_000 : 300);
  useEffect(() => watch(runId, refresh), [runId]);
  if (run === null)
    return error === null ? (
      <p class="soft pane">Reading the run…</p>
    ) : (
      <Problem text={error} onRetry={() => void reload()} />
    );
  return <RunView key={runId} run={run} onChange={() => void reload()} />;
}

interface RunViewProps {
  readonly run: RunPage;
  readonly onChange: () => void;
}

interface RunState {
  readonly chosen: Row | undefined;
  readonly canAct: boolean;
  readonly canFork: boolean;
  readonly fork: Signal<{ readonly key: string; readonly how: How } | null>;
  /** The key of the wait that is being answered. */
  readonly answer: Signal<string | null>;
  readonly openFork: (how: How) => void;
  readonly openAnswer: (key?: string) => void;
}

function useRun(run: RunPage): RunState {
  const fork = useSignal<{ readonly key: string; readonly how: How } | null>(null);
  const answer = useSignal<string | null>(null);
  const chosen = run.rows.find(({ key }) => key === queryOf("step"));
  const canAct = exported === null && session.value?.readOnly === false;
  const canFork = canAct && run.hasCode;
  const openFork = (how: How): void => {
    const key = chosen?.struck === undefined && chosen !== undefined ? chosen.key : defaultCall(run)?.key;
    if (canFork && key !== undefined) fork.value = { key, how };
  };
  const openAnswer = (key?: string): void => {
    answer.value = key ?? run.waits.find((wait) => !wait.answered && wait.topic === undefined)?.key ?? null;
  };
  useKeys({
    f: () => openFork("from"),
    e: () => openFork("edit"),
    r: () => canAct && openAnswer(),
    u: () => go("/"),
    g: () => setQuery({ gaps: queryOf("gaps") === "1" ? null : "1" }),
  });
  return { chosen, canAct, canFork, fork, answer, openFork, openAnswer };
}

function RunView({ run, onChange }: RunViewProps): JSX.Element {
  const { chosen, canAct, canFork, fork, answer, openFork, openAnswer } = useRun(run);
  const wait = run.waits.find(
    ({ key, answered, topic }) => key === answer.value && !answered && topic === undefined,
  );
  return (
    <div class="card run">
      <RunHead
        run={run}
        canAct={canAct}
        onAnswer={() => openAnswer()}
        onFork={() => openFork("from")}
        onChange={onChange}
      />
      <Lineage run={run} />
      <Stats run={run} />
      <Split
        left={<Left run={run} chosen={chosen?.key ?? ""} />}
        right={
          chosen === undefined ? (
            <RunPanel run={run} />
          ) : (
            <StepPanel
              key={chosen.key}
              run={run}
              row={chosen}
              canFork={canFork && chosen.struck === undefined}
              onFork={openFork}
              onAnswer={() => openAnswer(chosen.key)}
            />
          )
        }
      />
      {fork.value !== null && (
        <ForkDialog
          run={run}
          stepKey={fork.value.key}
          how={fork.value.how}
          onClose={() => (fork.value = null)}
        />
      )}
      {wait !== undefined && (
        <AnswerDialog
          run={run}
          wait={wait}
          canFork={canFork}
          onClose={() => (answer.value = null)}
          onChange={onChange}
        />
      )}
    </div>
  );
}

interface AnswerDialogProps extends RunViewProps {
  readonly wait: Wait;
  readonly canFork: boolean;
  readonly onClose: () => void;
}

function AnswerDialog({ run, wait, canFork, onClose, onChange }: AnswerDialogProps): JSX.Element {
  return (
    <Dialog title={`Answer ${wait.name}`} onClose={onClose} wide>
      {wait.note !== null && (
        <div class="pane note">
          <Value value={wait.note} label="the note" />
        </div>
      )}
      <AnswerForm
        runId={run.runId}
        wait={wait}
        canFork={canFork}
        onDone={() => {
          onClose();
          onChange();
        }}
      />
    </Dialog>
  );
}

/** The failed call, or the last one that did something. */
function defaultCall({ rows }: RunPage): Row | undefined {
  const calls = rows.filter(
    ({ kind, struck }) => kind !== "branch" && kind !== "parallel" && kind !== "race" && struck === undefined,
  );
  return calls.findLast(({ status }) => status === "failed") ?? calls.at(-1);
}

const tabNames = ["timeline", "journal", "forks"] as const;

function openTab(index: number): void {
  const name = tabNames[index];
  if (name !== undefined) setQuery({ tab: name === "timeline" ? null : name });
}

function Left({ run, chosen }: { run: RunPage; chosen: string }): JSX.Element {
  const forks = run.below.length;
  const tabs: Tab[] = [
    { id: "timeline", name: "Timeline" },
    { id: "journal", name: `Journal ${run.entries}` },
    ...(exported === null ? [{ id: "forks", name: forks === 0 ? "Forks" : `Forks ${forks}` }] : []),
  ];
  const asked = queryOf("tab");
  const tab = tabs.some(({ id }) => id === asked) ? asked : "timeline";
  useKeys({ 1: () => openTab(0), 2: () => openTab(1), 3: () => exported === null && openTab(2) });
  return (
    <>
      <div class="tab-line">
        <Tabs
          tabs={tabs}
          chosen={tab}
          label="Views of the run"
          onChoose={(id) => setQuery({ tab: id === "timeline" ? null : id })}
        />
        {tab === "timeline" && <FoldToggle />}
      </div>
      {tab === "timeline" && <Timeline run={run} chosen={chosen} />}
      {tab === "journal" && <JournalView key={run.runId} runId={run.runId} total={run.entries} />}
      {tab === "forks" && <ForkTree runId={run.runId} version={run.below.length} />}
    </>
  );
}

function FoldToggle(): JSX.Element {
  const isWhole = queryOf("gaps") === "1";
  return (
    <label class="check">
      <input type="checkbox" checked={!isWhole} onChange={() => setQuery({ gaps: isWhole ? null : "1" })} />{" "}
      fold idle time
    </label>
  );
}

function Timeline({ run, chosen }: { run: RunPage; chosen: string }): JSX.Element {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const all = useMemo(() => compact(run.rows), [run.rows]);
  const rows = openRows(all, closed.value);
  const index = rows.findIndex(({ key }) => key === chosen);
  const choose = (next: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, next))];
    if (row !== undefined) setQuery({ step: row.key });
  };
  const toggle = (key: string): void => {
    const next = new Set(closed.peek());
    if (!next.delete(key)) next.add(key);
    closed.value = next;
  };
  const moves: Readonly<Record<string, () => void>> = {
    j: () => choose(index + 1),
    k: () => choose(index - 1),
    ArrowDown: () => choose(index + 1),
    ArrowUp: () => choose(index - 1),
    Home: () => choose(0),
    End: () => choose(rows.length - 1),
    h: () => chosen !== "" && !closed.peek().has(chosen) && toggle(chosen),
    l: () => closed.peek().has(chosen) && toggle(chosen),
    Escape: () => setQuery({ step: null, panel: null }),
  };
  useKeys(Object.fromEntries(["j", "k", "h", "l", "Escape"].map((name) => [name, () => moves[name]?.()])));
  if (run.rows.length === 0) return <p class="pane soft">Nothing is recorded yet. This page is watching.</p>;
  return (
    <Waterfall
      rows={all}
      now={run.endedAt ?? now.value}
      fold={queryOf("gaps") !== "1"}
      chosen={chosen}
      closed={closed.value}
      onChoose={(key) => setQuery({ step: key === chosen ? null : key })}
      onToggle={toggle}
      onKeyDown={(event) => {
        const move =
          event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End"
            ? moves[event.key]
            : undefined;
        if (move === undefined) return;
        event.preventDefault();
        move();
      }}
    />
  );
}
