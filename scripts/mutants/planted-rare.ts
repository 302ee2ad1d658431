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
];

const repeats: readonly PlantedBug[] = [
  {
    name: "hand-over-drops-work",
    breaks: "worker.3",
    file: "engine/engine.ts",
    find: "if (this.inFlight.idle && !this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);",
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
