/** The playground: choose a program, run it, crash it, go on. Nothing of a program runs before a button is pressed. */
import {
  computed,
  defineComponent,
  h,
  nextTick,
  onBeforeUnmount,
  onMounted,
  ref,
  watch,
  type VNode,
} from "vue";
import { Desk } from "./desk.ts";
import { dollars, JournalView, typed } from "./journal-view.ts";
import { programs } from "./programs.ts";
import type { Pace, RunPicture, WaitPicture } from "./protocol.ts";
import type { Session } from "./session.ts";
import { TreeView } from "./tree-view.ts";

const paces: readonly Pace[] = ["slow", "fast", "by hand"];
/** States in which there is nothing to continue, or only an answer continues. */
const stopped = ["completed", "failed", "cancelled", "waiting"];

function button(name: string, isOn: boolean, work: () => void, look = ""): VNode {
  return h("button", { class: `pg-button ${look}`, disabled: !isOn, onClick: work }, name);
}

function choose(
  options: readonly (readonly [string, string])[],
  value: string,
  change: (to: string) => void,
): VNode {
  const learn = (event: Event): void => change(typed(event));
  return h(
    "select",
    { onChange: learn },
    options.map(([name, title]) => h("option", { value: name, selected: name === value }, title)),
  );
}

function bar(desk: Desk, session: Session, isWhole: boolean): VNode {
  const { live, kept } = session;
  const run = runOf(session);
  const setPace = (pace: string): void => {
    kept.pace = pace as Pace;
  };
  const titles = programs.map(({ name, title }) => [name, title] as const);
  const canContinue = run !== null && !live.isBusy && !stopped.includes(run.state);
  return h("div", { key: "bar", class: "pg-bar", role: "group", "aria-label": "The run" }, [
    isWhole
      ? h("label", { class: "pg-choose" }, [
          h("span", { class: "visually-hidden" }, "Program"),
          choose(titles, kept.program, (name) => desk.guarded(desk.open(name))),
        ])
      : null,
    button("Run", !live.isBusy, () => session.run(), "pg-main"),
    button("Crash", live.isBusy, () => void session.crash(), "pg-danger"),
    button("Continue", canContinue, () => run !== null && session.continue(run.id)),
    h("label", { class: "pg-choose" }, [
      "Answers ",
      choose(
        paces.map((pace) => [pace, pace]),
        kept.pace,
        setPace,
      ),
    ]),
    h("span", { class: "pg-space" }),
    isWhole ? button("Share", !live.isBusy, () => desk.guarded(desk.share(session))) : null,
    button("Start anew", !live.isBusy, () => desk.guarded(desk.startAnew(session))),
  ]);
}

function count(name: string, value: number, note: string): VNode {
  return h("div", { "data-count": name }, [
    h("dt", name),
    h("dd", String(value)),
    h("dd", { class: "pg-note" }, note),
  ]);
}

function counts({ kept: { calls, spared }, live }: Session): VNode {
  const models = calls.filter(({ what }) => what === "model");
  const paid = models.reduce((sum, { cost }) => sum + cost, 0);
  return h("dl", { key: "counts", class: "pg-counts" }, [
    count("Model calls", models.length, `${dollars(paid)} paid`),
    count("Service calls", calls.length - models.length, "outside of the program"),
    count("From the journal", spared.count, `${dollars(spared.cost)} not paid again`),
    count("Workers", live.lives, "since the page was opened"),
  ]);
}

function runOf({ live, kept }: Session): RunPicture | null {
  return live.runs[kept.selected ?? ""] ?? null;
}

function waitForm({ shown }: Desk, session: Session, { key, note }: WaitPicture): VNode {
  const send = (event: Event): void => {
    event.preventDefault();
    const run = runOf(session);
    if (run !== null) session.answer(run.id, key, shown.answer);
  };
  const learn = (event: Event): void => {
    shown.answer = typed(event);
  };
  return h("form", { class: "pg-form pg-wait", "data-wait": key, onSubmit: send }, [
    h("p", [h("b", `It waits: ${key}. `), note]),
    h("label", ["Answer, as JSON ", h("input", { value: shown.answer, onInput: learn })]),
    h("button", { class: "pg-button pg-main", type: "submit", disabled: session.live.isBusy }, "Answer"),
  ]);
}

function say(text: string, look = "pg-bad"): VNode | null {
  return text === "" ? null : h("p", { class: `pg-say ${look}`, role: "status" }, text);
}

function sayings({ shown }: Desk, { kept, live }: Session, run: RunPicture | null): (VNode | null)[] {
  const shared =
    "This program came with a link. Read it before you press a button: none of it has run in this page.";
  const crashed =
    "Crashed: the worker was terminated. What it had recorded is in the journal. Press Continue.";
  return [
    kept.isShared && live.lives === 0 ? say(shared, "pg-warn") : null,
    live.crashed === null ? null : say(crashed),
    say(live.message ?? ""),
    say(shown.problem),
    run === null
      ? null
      : h("p", { class: "pg-say", role: "status", "data-state": run.state, "data-busy": live.isBusy }, [
          h("b", `${run.id}: ${run.state}`),
          run.end === null ? "" : ` ${run.end}`,
        ]),
  ];
}

function panel(desk: Desk, session: Session): VNode[] {
  const run = runOf(session);
  const empty = "Press Run. Each result is recorded here. Press Crash in the middle of it, then Continue.";
  return [
    h("div", { key: "sayings" }, sayings(desk, session, run)),
    run === null ? h("p", { class: "pg-empty" }, empty) : h(JournalView, { key: run.id, session, run }),
    ...(run?.waits ?? []).map((wait) => waitForm(desk, session, wait)),
  ];
}

function linkLine(link: string): VNode {
  return h("p", { key: "link", class: "pg-link" }, [
    h("label", [
      `A link to this program and its journals, ${Math.ceil(link.length / 1_000)} kB, copied `,
      h("input", { readonly: true, value: link }),
    ]),
  ]);
}

export const PlaygroundView = defineComponent({
  props: {
    /** The program that is shown first. */
    program: { type: String, default: "story" },
    /** It shows other programs, too, and reads the link of the page. Not in guides. */
    isWhole: { type: Boolean, default: true },
  },
  setup(props) {
    const desk = new Desk(props.program, props.isWhole);
    const [editor, journal] = [ref<HTMLElement | null>(null), ref<HTMLElement | null>(null)];
    onMounted(() => editor.value !== null && desk.mount(editor.value));
    onBeforeUnmount(() => desk.close());
    const session = computed(() => desk.session.value);
    const size = computed(() => (session.value === null ? 0 : (runOf(session.value)?.entries.length ?? 0)));
    watch(size, async () => {
      await nextTick();
      if (journal.value !== null) journal.value.scrollTop = journal.value.scrollHeight;
    });
    return () => {
      const made = session.value;
      return h("div", { class: "pg" }, [
        made === null ? null : bar(desk, made, props.isWhole),
        made === null ? null : counts(made),
        desk.shown.link === "" ? null : linkLine(desk.shown.link),
        // With keys, so that the editor keeps its element when parts come and go.
        h("div", { key: "split", class: "pg-split" }, [
          h("section", { class: "pg-editor", "aria-label": "Program", ref: editor }),
          h(
            "section",
            { class: "pg-journal", tabindex: 0, "aria-label": "Journal", ref: journal },
            made === null ? [] : panel(desk, made),
          ),
        ]),
        made === null ? null : h(TreeView, { key: `tree of ${made.workspace}`, session: made }),
      ]);
    };
  },
});
