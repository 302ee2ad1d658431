/** Planted bugs in the binding of workflows to apps, and in what they show of work under way. */
import type { PlantedBug } from "./patch.ts";

const seenBy = {
  test: "packages/core/test/one-app.test.ts",
  because: "no simulated app binds its workflows",
};

const shown = {
  test: "packages/core/test/runs/under-way.test.ts",
  because: "a simulated process has a time of its own, and shows nothing",
};

export const plantedInApps: readonly PlantedBug[] = [
  {
    name: "bound-in-part",
    breaks: "app.1",
    find: "  for (const binding of bindings) binding?.assertFree(host);\n  for (const binding of bindings) binding?.bind(host);\n",
    replace:
      "  for (const binding of bindings) {\n    binding?.assertFree(host);\n    binding?.bind(host);\n  }\n",
    why: "An app that was refused has bound some of its workflows.",
    seenBy,
  },
  {
    name: "version-without-the-app",
    breaks: "binding.1",
    find: "given.own === null ? binding : new Binding(name, all)",
    replace: "given.own === null && binding.own !== null ? binding : new Binding(name, all)",
    why: "Another version of a workflow of an app runs on the default app.",
    seenBy,
  },
  {
    name: "first-app-counts",
    breaks: "binding.2",
    find: "    if (this.#hosts.size > 1) throw ambiguous(this.#name, this.#hosts.size);\n",
    replace: "",
    why: "A workflow of two apps silently uses the first.",
    seenBy,
  },
  {
    name: "private-workflow-bound",
    breaks: "binding.3",
    find: "    if (this.own !== null) throw isPrivate(this.#name, this.own);\n",
    replace: "",
    why: "An app takes a workflow that has a storage of its own, and ignores that storage.",
    seenBy,
  },
  {
    name: "app-after-the-first-run",
    breaks: "binding.4",
    find: "      this.#usedDefault = true;\n",
    replace: "",
    why: "The runs of a workflow are in two storages, or partly unencrypted.",
    seenBy,
  },
  {
    name: "failed-show-is-a-failure",
    breaks: "under-way.1",
    find: "catch {\n      // The next check tries again.\n    } finally",
    replace: "finally",
    why: "A storage that cannot keep the list ends the process.",
    seenBy: shown,
  },
  {
    name: "short-work-is-shown",
    breaks: "under-way.2",
    find: "now - since >= everyMs",
    replace: "now >= since",
    why: "Every short step costs a write.",
    seenBy: shown,
  },
  {
    name: "shown-in-clear",
    breaks: "under-way.3",
    find: "await sealText(cipher, this.#name, text)",
    replace: "text",
    why: "Words of a stream are in the storage in clear, although values are encrypted.",
    seenBy: shown,
  },
];
