/** What can be done with a run: the buttons of its head, and their dialogs. */

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { postAction, postMessage } from "../lib/api.ts";
import { readJson } from "../lib/form.ts";
import { messageOf, say } from "../lib/state.ts";
import { Dialog } from "./basic.tsx";

export interface ActionsProps {
  readonly run: RunPage;
  readonly onAnswer: () => void;
  readonly onFork: () => void;
  readonly onChange: () => void;
}

function Action({
  name,
  main = false,
  onClick,
}: {
  name: string;
  main?: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button type="button" class={main ? "btn p" : "btn"} onClick={onClick}>
      {name}
    </button>
  );
}

/** Only what is possible now. */
export function Actions({ run, onAnswer, onFork, onChange }: ActionsProps): JSX.Element {
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
  const waits = run.waits.some(({ answered, topic }) => !answered && topic === undefined);
  const isAsleep = run.rows.some(({ kind, status }) => kind === "sleep" && status === "open");
  const isOpen = run.endedAt === null && run.workflow !== "";
  const isPaused = run.paused !== null;
  const canRetry = run.retriable || (run.status === "blocked" && run.hasCode);
  return (
    <>
      {waits && <Action name="Answer" main onClick={onAnswer} />}
      {canRetry && <Action name="Retry" main onClick={() => void act("retry")} />}
      {isPaused && <Action name="Unpause" main onClick={() => void act("unpause")} />}
      {isAsleep && !isPaused && <Action name="Wake" onClick={() => void act("wake")} />}
      {isOpen && <Action name="Send" onClick={ask("send")} />}
      {isOpen && !isPaused && <Action name="Pause" onClick={ask("pause")} />}
      {run.hasCode && run.rows.length > 0 && <Action name="Fork" onClick={onFork} />}
      {isOpen && <Action name="Cancel" onClick={ask("cancel")} />}
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
