/** Bugs in budgets, and in what a provider asks of its callers. */
import type { PlantedBug } from "./patch.ts";

const because = "No simulated run has a budget or prices; it has a test in virtual time.";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/runs/${test}.test.ts`, because };
}

export const plantedInBudgets: readonly PlantedBug[] = [
  {
    name: "inherited-work-costs",
    breaks: "budget.1",
    find: "(summary.usage ?? []).reduce((sum, { cost = 0 }) => sum + cost, 0)",
    replace:
      "[...(summary.usage ?? []), ...(summary.inherited ?? [])].reduce((sum, { cost = 0 }) => sum + cost, 0)",
    why: "A fork pays for what its parent has paid for.",
    seenBy: seenBy("budgets"),
  },
  {
    name: "unknown-usage-is-free",
    breaks: "budget.2",
    find: "        this.#assumed += entry.assumed ?? 0;\n",
    replace: "",
    why: "Calls of a provider that tells no usage are never stopped.",
    seenBy: seenBy("budgets"),
  },
  {
    name: "question-for-each-call",
    breaks: "budget.3",
    find: "    const question = (this.#question ??= this.#ask(over, call.label));",
    replace: "    const question = (this.#question = this.#ask(over, call.label));",
    why: "Each branch at the limit asks a question of its own.",
    seenBy: seenBy("budgets"),
  },
  {
    name: "next-call-not-counted",
    breaks: "budget.4",
    find: "  return spent < most && spent + next <= most;",
    replace: "  return spent < most;",
    why: "A call begins that is known to pass the limit.",
    seenBy: seenBy("budgets"),
  },
  {
    name: "undoing-needs-money",
    breaks: "budget.5",
    find: "      found.push(...(this.#byScope.get(at) ?? []));",
    replace: "      found.push(...[...this.#byScope.values()].flat());",
    why: "A run whose budget is used up cannot undo its work.",
    seenBy: seenBy("budgets"),
  },
  {
    name: "lost-call-is-free",
    breaks: "tree-budget.1",
    find: "        if (before !== token) state.spent += cost;\n",
    replace: "",
    why: "Calls whose process died are not counted, however often that happens.",
    seenBy: seenBy("tree-budget"),
  },
  {
    name: "recorded-before-it-is-counted",
    breaks: "tree-budget.2",
    find: "      await budget.settle({ key: this.#call.key, token }, cost ?? next ?? 0).catch(() => {});",
    replace: "      void budget.settle({ key: this.#call.key, token }, cost ?? next ?? 0).catch(() => {});",
    why: "A crash right after a call is recorded leaves its cost uncounted.",
    seenBy: seenBy("tree-budget"),
  },
  {
    name: "raised-by-each-run",
    breaks: "tree-budget.3",
    find: "        Object.assign(state.raises, raises);",
    replace:
      "        for (const more of Object.values(raises)) state.raises[Object.keys(state.raises).length] = more;",
    why: "One answer raises the limit of a tree again and again.",
    seenBy: seenBy("tree-budget"),
  },
  {
    name: "tampered-sum-begins-anew",
    breaks: "tree-budget.4",
    find: "await openText(encryption, name, kept);",
    replace: `await openText(encryption, name, kept).catch(() => '{"spent":0,"held":{},"raises":{}}');`,
    why: "Whoever writes to the storage without the key resets what a tree has spent.",
    seenBy: seenBy("tree-budget"),
  },
  {
    name: "refusal-heard-by-one",
    breaks: "permits.5",
    find: "      if (isNew && state.rest > now) return state.rest - now;\n",
    replace: "",
    why: "Each call finds out by itself that its provider has too many requests.",
    seenBy: seenBy("quotas"),
  },
];
