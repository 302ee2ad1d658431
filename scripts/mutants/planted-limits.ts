/** Bugs in limits: slots, rates, debounce, and permits of steps. */
import type { PlantedBug } from "./patch.ts";

const because = "Generated programs have slots alone; rates, times and permits have tests in virtual time.";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/runs/limits-${test}.test.ts`, because };
}

export const plantedInLimits: readonly PlantedBug[] = [
  {
    name: "begins-before-its-time",
    breaks: "flow.1",
    file: "runs/flow.ts",
    find: "    if (early > 0 && journal.state.end === null) {",
    replace: "    if (early > 0 && journal.state.end === null && waits) {",
    why: "A worker or a sweep begins a delayed run that it advances before its time.",
    seenBy: seenBy("start"),
  },
  {
    name: "waits-with-its-lease",
    breaks: "flow.1",
    file: "runs/flow.ts",
    find: "  const { kind } = await journal.append([fact], { lease: null });\n",
    replace: "  const { kind } = await journal.append([fact], { lease: lease.extend(false) });\n",
    why: "A run that waits for its turn keeps its lease, and so its slot.",
    seenBy: seenBy("start"),
  },
  {
    name: "debounced-after-it-began",
    breaks: "flow.2",
    file: "runs/flow.ts",
    find: "  if (!isDebounced(journal.state.summary)) return null;\n",
    replace: "  if (isDebounced(journal.state.summary)) return null;\n",
    why: "That a debounced run begins is not recorded, so a later start changes its input.",
    seenBy: seenBy("start"),
  },
  {
    name: "overtakes-those-with-a-turn",
    breaks: "flow.3",
    file: "runs/window.ts",
    find: "    if ((hasTurn || state.line <= now) && this.take(state, now, [1]))",
    replace: "    if (this.take(state, now, [1]))",
    why: "A run without a turn takes the rate of those that have one.",
    seenBy: { test: "packages/core/test/runs/window.test.ts", because },
  },
  {
    name: "swap-that-lost-counts",
    breaks: "text-store.1",
    file: "runs/text-store.ts",
    find: "      if (text === undefined || (await this.#limits.swap(name, value, text, keepMs + wait))) return wait;",
    replace:
      "      if (text === undefined || (await this.#limits.swap(name, value, text, keepMs + wait)) || tries > 0) return wait;",
    why: "A change that came too late counts as made, so that two processes take the same place.",
    seenBy: seenBy("steps"),
  },
  {
    name: "window-forgets-early",
    breaks: "window.1",
    file: "runs/window.ts",
    find: "    return at + this.#partMs + this.#perMs;",
    replace: "    return at + this.#perMs / 2;",
    why: "Use leaves the window after half of its time.",
    seenBy: seenBy("start"),
  },
  {
    name: "too-much-never-fits",
    breaks: "window.2",
    file: "runs/window.ts",
    find: "      return before <= 0 || before + amount",
    replace: "      return before + amount",
    why: "A step that reserves more tokens than a limit has waits for ever.",
    seenBy: seenBy("steps"),
  },
  {
    name: "attempt-without-permit",
    breaks: "permits.1",
    file: "engine/calls/step.ts",
    find: "    if (limit !== undefined && this.#permit === null)",
    replace: "    if (limit !== undefined && this.#permit === null && this.#nextAttempt > 9)",
    why: "A step under a limit starts without a permit.",
    seenBy: seenBy("steps"),
  },
  {
    name: "permit-for-ever",
    breaks: "permits.2",
    file: "runs/permits.ts",
    find: "filter(([, until]) => until > now)",
    replace: "filter(([, until]) => until > 0)",
    why: "The permit of a process that died never ends.",
    seenBy: seenBy("steps"),
  },
  {
    name: "estimate-not-corrected",
    breaks: "permits.3",
    file: "runs/permits.ts",
    find: "          this.#window.add(state.window, now, [0, used - reserved]);",
    replace: "          this.#window.add(state.window, now, [0, 0]);",
    why: "Tokens are counted as they were estimated, and not as they were used.",
    seenBy: seenBy("steps"),
  },
  {
    name: "append-takes-a-slot-back",
    breaks: "memory-slots.2",
    file: "adapters/memory/slots.ts",
    find: "  return lease === null || lease.owner !== by.owner || lease.until <= now;",
    replace: "  return false;",
    why: "An append extends a lease that has expired, although another run has the slot by then.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because: "a simulated driver renews an expired lease before it appends",
    },
  },
  {
    name: "slot-outlives-its-lease",
    breaks: "memory-slots.1",
    file: "adapters/memory/slots.ts",
    find: "  !deleted && lease !== null && lease.until > now;",
    replace: "  !deleted && lease !== null;",
    why: "A driver that died keeps its slot for ever.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because: "simulated workers take over the runs of dead ones, and so their leases",
    },
  },
];
