/** A fork that asks with another system prompt: what it would reuse and pay for, before it is made. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { PlanReply } from "../../src/api.ts";
import type { ForkBody } from "../lib/api.ts";
import { createFork, PlanView, usePlan } from "./fork-dialog.tsx";

interface PromptForkProps {
  readonly runId: string;
  readonly stepKey: string;
  /** The system prompt that the call asked with; empty for none. */
  readonly system: string;
}

const isSame = "Change the prompt to see what would run again, and for how much.";

export function PromptFork({ runId, stepKey, system }: PromptForkProps): JSX.Element {
  const [text, busy] = [useSignal(system), useSignal(false)];
  const plan = useSignal<PlanReply | string | null>(null);
  const body = (): ForkBody | string =>
    text.value === system
      ? isSame
      : { from: stepKey, prompts: { [system]: text.value }, label: "other prompt" };
  usePlan(runId, body, plan);
  const create = async (): Promise<void> => {
    const asked = body();
    if (typeof asked === "string" || busy.value) return;
    busy.value = true;
    const problem = await createFork(runId, asked);
    if (problem !== null) plan.value = problem;
    busy.value = false;
  };
  return (
    <form
      class="form prompt-fork"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <label>
        <b>Fork with this prompt</b>{" "}
        <small>
          {system === ""
            ? "a system prompt, where the code gives none"
            : "the system prompt, also of later calls that have this one"}
        </small>
        <textarea rows={4} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      {text.value === system ? <p class="soft">{isSame}</p> : <PlanView plan={plan.value} />}
      <div class="buttons">
        <button
          type="submit"
          class="btn p"
          disabled={busy.value || typeof plan.value === "string" || plan.value === null}
        >
          Fork
        </button>
      </div>
    </form>
  );
}
