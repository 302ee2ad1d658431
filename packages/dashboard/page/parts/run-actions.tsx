/** What can be done with a run: the buttons of its head, and their dialogs. */

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { postAction, postMessage } from "../lib/api.ts";
import { readJson } from "../lib/form.ts";
import { useRunCommands } from "../lib/run-commands.ts";
import { messageOf, say } from "../lib/state.ts";
import { Dialog } from "./basic.tsx";

export interface ActionsProps {
  readonly run: RunPage;
  readonly onFork: () => void;
  readonly onChange: () => void;
}

interface ActionProps {
  readonly name: string;
  readonly main?: boolean;
  /** Why it is not possible now; `null` when it is. */
  readonly not: string | null;
  readonly onClick: () => void;
}

/** A button keeps its place. One that cannot be used says why, also to those who do not see it. */
function Action({ name, main = false, not, onClick }: ActionProps): JSX.Element {
  return (
    <button
      type="button"
      class={main && not === null ? "btn p" : "btn"}
      aria-disabled={not !== null}
      title={not ?? undefined}
      onClick={() => (not === null ? onClick() : say(not))}
    >
      {name}
      {not !== null && <span class="vh">: {not}</span>}
    </button>
  );
}

/** Why each action is not possible; `null` for one that is. */
export function refusals(
  run: RunPage,
): Readonly<Record<"fork" | "send" | "pause" | "wake" | "retry" | "cancel", string | null>> {
  const isOver = run.endedAt !== null;
  const over = isOver ? "The run has ended." : null;
  const journal = run.workflow === "" ? "A journal without a workflow is driven by its own program." : null;
  const noCode = run.hasCode ? null : "The code of this workflow is not here: start the page with the app.";
  const isAsleep = run.rows.some(
    ({ kind, status, struck }) => kind === "sleep" && status === "open" && struck === undefined,
  );
  const canRetry = run.retriable || (run.status === "blocked" && run.hasCode);
  return {
    fork: noCode ?? (run.rows.length === 0 ? "Nothing is recorded that a fork could begin from." : null),
    send: over ?? journal,
    pause: over ?? journal,
    wake: over ?? (run.paused !== null ? "The run is paused." : isAsleep ? null : "The run does not sleep."),
    retry: canRetry ? null : retryRefused(run),
    cancel: over ?? journal,
  };
}

function retryRefused(run: RunPage): string {
  if (run.status === "blocked") return "The code of this workflow is not here: start the page with the app.";
  return run.status === "failed"
    ? (run.retryRefusal ?? "A retry of this run would be refused.")
    : `Only a run that failed or is blocked can be retried; this one is ${run.state}.`;
}

export function Actions({ run, onFork, onChange }: ActionsProps): JSX.Element {
  const asking = useSignal<"cancel" | "pause" | "send" | null>(null);
  const ask = (what: typeof asking.value) => (): void => {
    asking.value = what;
  };
  const act = async (action: "retry" | "wake" | "unpause"): Promise<void> => {
    try {
      say((await postAction(run.runId, action)).message);
    } catch (error) {
      say(messageOf(error), true);
    }
    onChange();
  };
  const not = refusals(run);
  const isPaused = run.paused !== null;
  const onPause = isPaused ? () => void act("unpause") : ask("pause");
  useRunCommands([
    { id: "fork", name: "Fork this run", not: not.fork, act: onFork },
    { id: "send", name: "Send a message to this run", not: not.send, act: ask("send") },
    { id: "pause", name: isPaused ? "Unpause this run" : "Pause this run", not: not.pause, act: onPause },
    { id: "wake", name: "Wake this run", not: not.wake, act: () => void act("wake") },
    { id: "cancel", name: "Cancel this run", not: not.cancel, act: ask("cancel") },
    { id: "retry", name: "Retry this run", not: not.retry, act: () => void act("retry") },
  ]);
  return (
    <>
      <Action name="Fork" not={not.fork} onClick={onFork} />
      <Action name="Send" not={not.send} onClick={ask("send")} />
      {isPaused ? (
        <Action name="Unpause" main not={not.pause} onClick={onPause} />
      ) : (
        <Action name="Pause" not={not.pause} onClick={onPause} />
      )}
      <Action name="Wake" not={not.wake} onClick={() => void act("wake")} />
      <Action name="Cancel" not={not.cancel} onClick={ask("cancel")} />
      <Action name="Retry" main not={not.retry} onClick={() => void act("retry")} />
      {asking.value === "cancel" && <CancelDialog run={run} onClose={ask(null)} onChange={onChange} />}
      {asking.value === "pause" && <PauseDialog run={run} onClose={ask(null)} onChange={onChange} />}
      {asking.value === "send" && <SendDialog run={run} onClose={ask(null)} onChange={onChange} />}
    </>
  );
}

interface DialogProps {
  readonly run: RunPage;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

interface ReasonDialogProps extends DialogProps {
  readonly action: "cancel" | "pause";
  readonly title: string;
  readonly yes: string;
  readonly no: string;
  readonly children: ComponentChildren;
}

/** Asks for a reason, which is recorded. */
function ReasonDialog({ run, onClose, onChange, ...props }: ReasonDialogProps): JSX.Element {
  const reason = useSignal("");
  const act = async (): Promise<void> => {
    try {
      say((await postAction(run.runId, props.action, { reason: reason.value })).message);
    } catch (error) {
      say(messageOf(error), true);
    }
    onClose();
    onChange();
  };
  return (
    <Dialog title={props.title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <p>{props.children}</p>
        <label>
          Reason <small>optional</small>
          <input value={reason.value} onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
        <div class="buttons">
          <button type="submit" class={props.action === "cancel" ? "btn danger" : "btn p"}>
            {props.yes}
          </button>
          <button type="button" class="btn" onClick={onClose}>
            {props.no}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function CancelDialog(props: DialogProps): JSX.Element {
  return (
    <ReasonDialog
      {...props}
      action="cancel"
      title="Cancel this run?"
      yes="Cancel the run"
      no="Keep it running"
    >
      Run <b>{props.run.runId}</b> and its children end now. What is recorded stays, and can still be forked.
    </ReasonDialog>
  );
}

function PauseDialog(props: DialogProps): JSX.Element {
  return (
    <ReasonDialog {...props} action="pause" title="Pause this run?" yes="Pause the run" no="Keep it running">
      Run <b>{props.run.runId}</b> stops after the work that is under way, until you unpause it. Its children
      go on.
    </ReasonDialog>
  );
}

interface Message {
  readonly topic: Signal<string>;
  readonly text: Signal<string>;
  readonly problem: Signal<string>;
  readonly send: () => Promise<void>;
}

function useMessage({ run, onClose, onChange }: DialogProps): Message {
  const topic = useSignal(run.waits.find((wait) => wait.topic !== undefined)?.topic ?? "");
  const [text, problem] = [useSignal(""), useSignal("")];
  const send = async (): Promise<void> => {
    const payload = readJson(text.value);
    if (topic.value === "") problem.value = "The topic is missing.";
    else if (!("value" in payload)) problem.value = `The message is not JSON: ${payload.problem}`;
    else
      try {
        say((await postMessage(run.runId, topic.value, payload.value)).message);
        onClose();
        onChange();
      } catch (error) {
        problem.value = messageOf(error);
      }
  };
  return { topic, text, problem, send };
}

function SendDialog(props: DialogProps): JSX.Element {
  const { topic, text, problem, send } = useMessage(props);
  return (
    <Dialog title="Send a message" onClose={props.onClose}>
      <form
        class="form"
        onInput={() => (problem.value = "")}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label>
          Topic
          <input
            value={topic.value}
            autoComplete="off"
            onInput={(event) => (topic.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Message as JSON
          <textarea
            rows={5}
            class="code"
            spellcheck={false}
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        {problem.value !== "" && (
          <p class="fail" role="alert">
            {problem.value}
          </p>
        )}
        <div class="buttons">
          <button type="submit" class="btn p">
            Send the message
          </button>
          <button type="button" class="btn" onClick={props.onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  );
}
