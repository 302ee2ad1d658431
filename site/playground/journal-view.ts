/** The journal of one run: its entries as they come, what is under way, and what one can do with each. */
import { defineComponent, h, ref, type PropType, type Ref, type VNode } from "vue";
import type { EntryPicture, OutsideCall, RunPicture } from "./protocol.ts";
import type { Session } from "./session.ts";

interface Edit {
  readonly key: string;
  readonly json: string;
}

/** What the parts of a journal share. */
interface Shown {
  readonly session: Session;
  readonly run: RunPicture;
  readonly edit: Ref<Edit | null>;
}

export function dollars(cost: number): string {
  return `$${cost.toFixed(4)}`;
}

/** The text of a field, while it is typed. */
export function typed(event: Event): string {
  return (event.target as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement).value;
}

function editForm({ session, run, edit }: Shown, { key, json }: Edit): VNode {
  const send = (event: Event): void => {
    event.preventDefault();
    const text = edit.value?.json ?? json;
    edit.value = null;
    session.fork(run.id, key, text);
  };
  const learn = (event: Event): void => {
    edit.value = { key, json: typed(event) };
  };
  const cancel = (): void => {
    edit.value = null;
  };
  return h("form", { class: "pg-form", onSubmit: send }, [
    h("label", [
      `Another output of ${key}, as JSON`,
      h("textarea", { rows: 3, value: json, onInput: learn }),
    ]),
    h("button", { class: "pg-button pg-main", type: "submit" }, "Fork with this"),
    h("button", { class: "pg-button", type: "button", onClick: cancel }, "Cancel"),
  ]);
}

function actions({ session, run, edit }: Shown, { key, json }: EntryPicture): VNode | null {
  if (key === null || json === null || session.live.isBusy) return null;
  const fork = (): void => session.fork(run.id, key, null);
  const change = (): void => {
    edit.value = { key, json };
  };
  return h("p", { class: "pg-actions" }, [
    h(
      "button",
      { class: "pg-small", onClick: fork, "aria-label": `Fork from here: ${key}` },
      "Fork from here",
    ),
    h(
      "button",
      { class: "pg-small", onClick: change, "aria-label": `Edit this output: ${key}` },
      "Edit this output",
    ),
  ]);
}

function tag(text: string, look = ""): VNode {
  return h("span", { class: ["pg-tag", look] }, text);
}

function origin({ session, run }: Shown, { edited, inherited, key }: EntryPicture): VNode | null {
  if (edited) return tag("edited", "pg-edited");
  if (inherited) return tag(`from ${run.parent ?? "its parent"}`, "pg-kept");
  return key !== null && session.live.replayed.includes(key) ? tag("from the journal", "pg-kept") : null;
}

function entryLine(shown: Shown, entry: EntryPicture): VNode {
  const { key, kind, seq, text, cost, inherited } = entry;
  const edit = shown.edit.value;
  const isEdited = edit !== null && edit.key === key && entry.json !== null;
  const look = ["pg-entry", { "pg-inherited": inherited }];
  return h("li", { key: seq, class: look, "data-kind": kind, "data-key": key }, [
    h("span", { class: "pg-seq" }, String(seq)),
    h("div", [
      h("p", { class: "pg-line" }, [
        h("b", kind),
        key === null ? null : h("code", key),
        origin(shown, entry),
        cost === null ? null : h("span", { class: "pg-cost" }, dollars(cost)),
      ]),
      text === "" ? null : h("p", { class: "pg-value" }, text),
      actions(shown, entry),
      isEdited ? editForm(shown, edit) : null,
    ]),
  ]);
}

function callLine({ session }: Shown, call: OutsideCall): VNode {
  const answer = (): void => session.reply(call);
  return h("p", { class: "pg-value" }, [
    call.what === "model" ? `asks ${call.name}: ${call.prompt} ` : `calls ${call.name} `,
    session.kept.pace === "by hand"
      ? h("button", { class: "pg-small", onClick: answer }, "Let it answer")
      : null,
  ]);
}

function attemptLine(shown: Shown, key: string): VNode {
  const call = shown.session.live.open.find((one) => one.key === key);
  return h("li", { key: `attempt ${key}`, class: "pg-entry pg-ghost", "data-attempt": key }, [
    h("span", { class: "pg-seq" }, "…"),
    h("div", [
      h("p", { class: "pg-line" }, [h("b", "under way"), h("code", key), tag("not recorded yet")]),
      call === undefined ? null : callLine(shown, call),
    ]),
  ]);
}

function lostLine(key: string): VNode {
  return h("li", { key: `lost ${key}`, class: "pg-entry pg-lost", "data-lost": key }, [
    h("span", { class: "pg-seq" }, "✕"),
    h("p", { class: "pg-line" }, [
      h("b", "lost"),
      h("code", key),
      tag("the crash came before it was recorded"),
    ]),
  ]);
}

export const JournalView = defineComponent({
  props: {
    session: { type: Object as PropType<Session>, required: true },
    run: { type: Object as PropType<RunPicture>, required: true },
  },
  setup(props) {
    const edit = ref<Edit | null>(null);
    return () => {
      const { session, run } = props;
      const shown: Shown = { session, run, edit };
      const { attempts, crashed } = session.live;
      const isDriven = session.driven === run.id;
      return h("ol", { class: "pg-entries", "aria-label": `Journal of ${run.id}` }, [
        ...run.entries.map((entry) => entryLine(shown, entry)),
        ...(isDriven ? [...new Set(attempts)].map((key) => attemptLine(shown, key)) : []),
        ...(isDriven ? [...new Set(crashed)].map(lostLine) : []),
      ]);
    };
  },
});
