/** Forks from a call. What would be reused and what would run again is shown first, with its cost. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { PlanReply, RunPage } from "../../src/api.ts";
import { type ForkBody, getStep, postFork, postPlan, readValue } from "../lib/api.ts";
import { cost, count, plural } from "../lib/format.ts";
import { readJson } from "../lib/form.ts";
import { go, runPath } from "../lib/router.ts";
import { messageOf, say } from "../lib/state.ts";
import { Dialog } from "./basic.tsx";

export type How = "from" | "after" | "edit";

export interface ForkDialogProps {
  readonly run: RunPage;
  readonly stepKey: string;
  readonly how: How;
  readonly onClose: () => void;
}

const names: Readonly<Record<How, string>> = {
  from: "Run it again",
  after: "Keep it, run what follows",
  edit: "Replace its output",
};

interface Forking {
  readonly how: Signal<How>;
  readonly label: Signal<string>;
  readonly text: Signal<string>;
  readonly lossy: Signal<boolean>;
  readonly plan: Signal<PlanReply | string | null>;
  readonly busy: Signal<boolean>;
  readonly create: () => Promise<void>;
}

function useFork({ run, stepKey, how: first, onClose }: ForkDialogProps): Forking {
  const how = useSignal<How>(first);
  const [label, text] = [useSignal(""), useSignal("")];
  const [lossy, busy] = [useSignal(false), useSignal(false)];
  const plan = useSignal<PlanReply | string | null>(null);
  useEffect(() => {
    void getStep(run.runId, stepKey, "").then(
      async (detail) => {
        lossy.value = detail.lossy;
        const isCut = Object.keys(detail.cuts ?? {}).length > 0;
        const field = detail.chunks === undefined ? "value" : "chunks";
        // What is edited has to be all of it.
        text.value = isCut
          ? await readValue({ runId: run.runId, key: stepKey, field })
          : JSON.stringify(detail.chunks ?? detail.value ?? null, null, 2);
      },
      () => {},
    );
  }, []);
  const body = (): ForkBody | string =>
    bodyOf(stepKey, { how: how.value, text: text.value, label: label.value });
  usePlan(run.runId, body, plan);
  const create = async (): Promise<void> => {
    const asked = body();
    if (typeof asked === "string" || busy.value) return;
    busy.value = true;
    const problem = await createFork(run.runId, asked, onClose);
    if (problem !== null) plan.value = problem;
    busy.value = false;
  };
  return { how, label, text, lossy, plan, busy, create };
}

/** Makes the fork and shows it; gives what is wrong if it cannot be made. */
export async function createFork(
  parent: string,
  body: ForkBody,
  onDone: () => void = () => {},
): Promise<string | null> {
  try {
    const { runId, message } = await postFork(parent, body);
    say(message);
    onDone();
    go(runPath(runId));
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

export function ForkDialog(props: ForkDialogProps): JSX.Element {
  const { run, stepKey, onClose } = props;
  const { how, label, text, lossy, plan, busy, create } = useFork(props);
  return (
    <Dialog title={`Fork from ${stepKey}`} onClose={onClose} wide>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Choices how={how} />
        {how.value === "edit" && <Editor text={text} lossy={lossy.value} />}
        <label>
          Label <small>optional, for lists</small>
          <input
            value={label.value}
            maxLength={256}
            onInput={(event) => (label.value = event.currentTarget.value)}
          />
        </label>
        <PlanView plan={plan.value} />
        <div class="buttons">
          <button
            type="submit"
            class="btn p"
            disabled={busy.value || typeof plan.value === "string" || plan.value === null}
          >
            Create the fork
          </button>
          <span class="faint">Run {run.runId} stays as it is.</span>
        </div>
      </form>
    </Dialog>
  );
}

function bodyOf(
  key: string,
  { how, text, label }: { how: How; text: string; label: string },
): ForkBody | string {
  const about = label === "" ? {} : { label };
  if (how !== "edit") return { [how]: key, ...about };
  const read = readJson(text);
  return "problem" in read
    ? `The output is not JSON: ${read.problem}`
    : { edit: { [key]: read.value }, ...about };
}

/** Asks for the plan shortly after the last change. A text is what is wrong. */
export function usePlan(
  runId: string,
  body: () => ForkBody | string,
  plan: Signal<PlanReply | string | null>,
): void {
  const asked = JSON.stringify(body());
  useEffect(() => {
    let isLatest = true;
    plan.value = null;
    const timer = setTimeout(() => {
      const given = body();
      const reply = typeof given === "string" ? Promise.resolve(given) : postPlan(runId, given);
      void reply.catch(messageOf).then((value) => {
        if (isLatest) plan.value = value;
      });
    }, 250);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [asked]);
}

function Choices({ how }: { how: Signal<How> }): JSX.Element {
  return (
    <fieldset class="field bare">
      <legend>What happens to this call</legend>
      <span class="seg">
        {(Object.keys(names) as How[]).map((id) => (
          <label key={id} class={how.value === id ? "on" : ""}>
            <input type="radio" name="how" checked={how.value === id} onChange={() => (how.value = id)} />
            {names[id]}
          </label>
        ))}
      </span>
    </fieldset>
  );
}

function Editor({ text, lossy }: { text: Signal<string>; lossy: boolean }): JSX.Element {
  return (
    <label>
      Output as JSON
      <textarea
        class="code"
        rows={10}
        spellcheck={false}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      {lossy && (
        <small class="waits">
          The recorded output contains values that JSON cannot express, such as dates. They become texts here.
        </small>
      )}
    </label>
  );
}

export function PlanView({ plan }: { plan: PlanReply | string | null }): JSX.Element {
  if (plan === null) return <p class="plan soft">Working out what would run…</p>;
  if (typeof plan === "string")
    return (
      <p class="plan fail" role="alert">
        {plan}
      </p>
    );
  const keys = (what: string): string[] =>
    plan.calls.filter((call) => call.what === what).map(({ key }) => key);
  const [reused, edited, runs, waits] = ["reused", "edited", "runs", "waits"].map(keys) as [
    string[],
    string[],
    string[],
    string[],
  ];
  return (
    <div class="plan" aria-live="polite">
      <PlanLine
        mark="h"
        name={plural(reused.length, "call")}
        what="from the journal"
        keys={reused}
        spend={plan.saved}
        verb="saved"
      />
      {edited.length > 0 && (
        <PlanLine mark="h" name={plural(edited.length, "call")} what="with your output" keys={edited} />
      )}
      <PlanLine
        mark="r"
        name={plural(runs.length, "call")}
        what="run again"
        keys={runs}
        spend={plan.atStake}
        verb="at stake"
      />
      {waits.length > 0 && (
        <PlanLine mark="w" name={plural(waits.length, "wait")} what="asked again" keys={waits} />
      )}
      {plan.blocked !== null && <p class="blocked">The fork could not continue: {plan.blocked}</p>}
      {plan.unsure.length > 0 && (
        <p class="soft">
          Only once the new work is over it shows whether these fit: {plan.unsure.join(", ")}
        </p>
      )}
    </div>
  );
}

interface PlanLineProps {
  readonly mark: string;
  readonly name: string;
  readonly what: string;
  readonly keys: readonly string[];
  readonly spend?: PlanReply["saved"];
  readonly verb?: string;
}

function PlanLine({ mark, name, what, keys, spend, verb = "" }: PlanLineProps): JSX.Element {
  const tokens = spend === undefined ? 0 : spend.inputTokens + spend.outputTokens;
  const price = spend?.cost === null || spend === undefined ? "" : `, ${cost(spend.cost)}`;
  return (
    <p>
      <span class="spark" aria-hidden="true">
        <i class={mark} />
      </span>
      <b>{name}</b> {what}
      {tokens > 0 && <span class="soft">{` (${count(tokens)} tokens${price} ${verb})`}</span>}
      <span class="faint keys">{keys.slice(0, 6).join(", ") + (keys.length > 6 ? ", …" : "")}</span>
    </p>
  );
}
