/** Planted bugs in the binding of workflows to apps. */
import type { PlantedBug } from "./patch.ts";

const seenBy = {
  test: "packages/core/test/one-app.test.ts",
  because: "no simulated app binds its workflows",
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
];
