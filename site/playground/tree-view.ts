/** The tree of forks: a line for each run, with a dot for each outcome. Dots of inherited outcomes are hollow: they cost nothing. */
import { defineComponent, h, type PropType, type VNode } from "vue";
import type { RunPicture } from "./protocol.ts";
import type { Session } from "./session.ts";

const [column, row, left, top] = [26, 34, 14, 18];

function x(step: number): number {
  return left + Math.max(0, step) * column;
}

/** The line of a run: from its parent's, behind the last outcome that it has from there. */
function strand(run: RunPicture, n: number, all: readonly RunPicture[]): VNode {
  const y = top + n * row;
  const kept = run.steps.filter(({ inherited }) => inherited).length;
  const above = all.findIndex(({ id }) => id === run.parent);
  const end = x(run.steps.length - 1);
  const begin = x(kept - 1);
  const cut = `M${begin} ${top + above * row}V${y - 8}`;
  return h("g", { key: run.id }, [
    above === -1 ? null : h("path", { class: "pg-cut", d: cut }),
    h("path", { class: "pg-strand", d: `M${x(0)} ${y}H${end}` }),
    ...run.steps.map(({ key, inherited }, i) =>
      h("circle", { key: i, class: inherited ? "pg-hollow" : "pg-dot", cx: x(i), cy: y, r: 5 }, [
        h("title", inherited ? `${key}, from ${run.parent ?? "its parent"}` : key),
      ]),
    ),
  ]);
}

function choice(session: Session, run: RunPicture): VNode {
  const select = (): void => {
    session.kept.selected = run.id;
  };
  const isOn = session.kept.selected === run.id;
  return h("li", { key: run.id }, [
    h("button", { class: "pg-run", "aria-pressed": isOn, onClick: select }, [
      h("b", run.id),
      ` ${run.state}${run.parent === null ? "" : `, fork of ${run.parent}`}`,
    ]),
  ]);
}

export const TreeView = defineComponent({
  props: { session: { type: Object as PropType<Session>, required: true } },
  setup(props) {
    return () => {
      const { kept, live } = props.session;
      const all = kept.runs.map((id) => live.runs[id]).filter((run) => run !== undefined);
      if (all.length === 0) return null;
      const most = Math.max(...all.map(({ steps }) => steps.length), 2);
      const size = { width: left * 2 + (most - 1) * column, height: top + all.length * row };
      const look = { ...size, viewBox: `0 0 ${size.width} ${size.height}`, role: "img" };
      return h("div", { class: "pg-tree", tabindex: 0, role: "group", "aria-label": "Runs and forks" }, [
        h("svg", { ...look, "aria-label": `The tree of ${all.length} runs` }, all.map(strand)),
        h(
          "ul",
          all.map((run) => choice(props.session, run)),
        ),
      ]);
    };
  },
});
