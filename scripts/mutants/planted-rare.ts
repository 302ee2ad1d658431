/** Bugs that show only in rare situations, which the generator makes on purpose. */
import type { PlantedBug } from "./patch.ts";

const forks: readonly PlantedBug[] = [
  {
    name: "cut-ends-at-the-parent",
    breaks: "law 9",
    file: "runs/fork.ts",
    find: "...cuts.filter((cut) => !theirs.every((entry) => isKept(entry, [cut])))",
    replace: "...(i < runs.length - 1 ? [] : cuts)",
    why: "A fork of a fork keeps everything that its parent has inherited, wherever it is cut.",
  },
  {
    name: "fork-input-lost",
    breaks: "law 9",
    file: "journal/lineage.ts",
    find: "  if (forked.input !== undefined) input = forked.input;\n",
    replace: "",
    why: "A fork that was made with another input gets the input of its parent.",
  },
  {
    name: "input-of-an-ancestor-lost",
    breaks: "law 9",
    file: "journal/lineage.ts",
    find: "        if (entry.input !== undefined) input = entry.input;\n",
    replace: "",
    why: "A fork of a fork with another input gets the input of the first run.",
  },
  {
    name: "group-cut-at-its-first-call",
    breaks: "law 9",
    file: "runs/fork-keys.ts",
    find: "at: positions.reduce(higher), keep: true",
    replace: "at: positions.reduce(lower), keep: true",
    why: "A fork after a group drops calls that did not depend on all of the group.",
  },
  {
    name: "group-not-inside-itself",
    breaks: "law 9",
    file: "journal/keys.ts",
    find: '(key[path.length] === "/" || key[path.length] === "[")',
    replace: 'key[path.length] === "/"',
    why: "A fork from a group keeps what its branches have recorded.",
  },
];

const repeats: readonly PlantedBug[] = [
  {
    name: "hand-over-drops-work",
    breaks: "worker.3",
    file: "engine/engine.ts",
    find: "if (this.#idleWork && !this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);",
    replace: "if (!this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);",
    why: "A driver that hands its run over does not wait for work under way, which then runs again elsewhere.",
  },
];

const streams: readonly PlantedBug[] = [
  {
    name: "late-chunks-are-written",
    breaks: "stream.1",
    file: "engine/calls/stream.ts",
    find: "if (!info.over) buffer.flush();",
    replace: "buffer.flush();",
    also: [
      { file: "engine/calls/stream.ts", find: "        signal.throwIfAborted();\n", replace: "" },
      {
        file: "engine/calls/stream.ts",
        find: "      buffer.close();\n      this.#landed.set();\n",
        replace: "",
      },
    ],
    why: "Chunks that come after the timeout of their attempt are recorded after its failure.",
  },
];

export const plantedInRareCases: readonly PlantedBug[] = [...forks, ...repeats, ...streams];
