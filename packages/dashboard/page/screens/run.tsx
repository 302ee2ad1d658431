/** One run: what it does now, what it did, and what can be done with it. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Row, RunPage, Wait } from "../../src/api.ts";
import { exported, getRun, type KnownRun, watch } from "../lib/api.ts";
import { useKeys, useLoad, useThrottle } from "../lib/hooks.ts";
import { go, queryOf, setQuery } from "../lib/router.ts";
import { session, setServerTime } from "../lib/state.ts";
import { useChildren, type Children } from "../lib/use-children.ts";
import { AnswerForm } from "../parts/answer-form.tsx";
import { Dialog, Problem } from "../parts/basic.tsx";
import { ForkDialog, type How } from "../parts/fork-dialog.tsx";
import { chosenEntry, EntryPanel } from "../parts/journal.tsx";
import { Banners } from "../parts/run-banner.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { RunPanel } from "../parts/run-panel.tsx";
import { Stats } from "../parts/run-stats.tsx";
import { RunTabs } from "../parts/run-tabs.tsx";
import { Split } from "../parts/split.tsx";
import { StepPanel } from "../parts/step-panel.tsx";
import { Value } from "../parts/value.tsx";

export function RunScreen({ runId }: { runId: string }): JSX.Element {
  const chapter = queryOf("chapter");
  const known: { current: KnownRun | null } = useSignal<{ current: KnownRun | null }>({
    current: null,
  }).value;
  const { data, reload } = useLoad(`${runId} ${chapter}`, async () => {
    const before = known.current?.runId === runId ? known.current : null;
    const run = await getRun(runId, chapter, before);
    known.current = run;
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

/** The call that is chosen, and the run that it belongs to: this one, or a child that is open. */
interface Chosen {
  readonly run: RunPage;
  readonly row: Row;
}

interface RunState {
  readonly children: Children;
  readonly chosen: Chosen | undefined;
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
  const children = useChildren(run);
  const of = queryOf("in") === "" ? run : children.open.get(queryOf("in"));
  const row = of?.rows.find(({ key }) => key === queryOf("step"));
  const chosen = of === undefined || of === null || row === undefined ? undefined : { run: of, row };
  const canAct = exported === null && session.value?.readOnly === false;
  const canFork = canAct && run.hasCode;
  const openFork = (how: How): void => {
    const mine = chosen?.run === run && chosen.row.struck === undefined ? chosen.row : undefined;
    const key = mine?.key ?? defaultCall(run)?.key;
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
  return { children, chosen, canAct, canFork, fork, answer, openFork, openAnswer };
}

function RunView({ run, onChange }: RunViewProps): JSX.Element {
  const { children, chosen, canAct, canFork, fork, answer, openFork, openAnswer } = useRun(run);
  const wait = run.waits.find(
    ({ key, answered, topic }) => key === answer.value && !answered && topic === undefined,
  );
  const isOwn = chosen?.run === run;
  const entry = chosenEntry();
  return (
    <div class="card run">
      <RunHead run={run} canAct={canAct} onFork={() => openFork("from")} onChange={onChange} />
      <Banners run={run} canAct={canAct} onAnswer={openAnswer} onChange={onChange} />
      <Stats run={run} sums={children.sums} />
      <Split
        left={<RunTabs run={run} children={children} chosen={chosen} />}
        right={
          entry !== null ? (
            <EntryPanel runId={run.runId} index={entry} />
          ) : chosen === undefined ? (
            <RunPanel run={run} />
          ) : (
            <StepPanel
              key={`${chosen.run.runId} ${chosen.row.key}`}
              run={chosen.run}
              row={chosen.row}
              canFork={isOwn && canFork && chosen.row.struck === undefined}
              onFork={openFork}
              onAnswer={() => openAnswer(chosen.row.key)}
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
