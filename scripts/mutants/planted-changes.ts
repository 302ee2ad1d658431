/** Planted bugs in calls whose name comes from their content. */
import type { PlantedBug } from "./patch.ts";

const seenBy = {
  test: "packages/core/test/engine/changes.test.ts",
  because: "no simulated call is named by its content, and no simulated code renames what is paid for",
};

const renamesSeenBy = { ...seenBy, test: "packages/core/test/engine/renames.test.ts" };
const tableSeenBy = { ...seenBy, test: "packages/core/test/changed-code-table.test.ts" };

export const plantedInChanges: readonly PlantedBug[] = [
  {
    name: "change-begins-beside-others",
    breaks: "changes.1",
    find: 'if (when === "still" && !this.#fresh.isOver) return null;',
    replace: 'if (when === "still" && !this.#fresh.isOver) return fresh;',
    why: "A changed call is asked, and paid for, before the run is blocked.",
    seenBy,
  },
  {
    name: "change-judged-at-once",
    breaks: "changes.2",
    find: "const stillMs = 1_000;",
    replace: "const stillMs = 0;",
    why: "A strand that is slow to ask for its record blocks the strand beside it.",
    seenBy,
  },
  {
    name: "kept-outcome-claimed-again",
    breaks: "changes.3",
    find: "      this.call(entry.kept);\n",
    replace: "",
    why: "The next life of the run takes a record that was kept for one that nothing asks for.",
    seenBy,
  },
  {
    name: "renames-never-judged",
    breaks: "changes.4",
    find: "const sure = renames.find(({ isSure }) => isSure);",
    replace: "const sure = renames.find(({ isSure }) => isSure && false);",
    why: "A renamed step runs, and pays a second time.",
    seenBy: renamesSeenBy,
  },
  {
    name: "passed-wait-unnoticed",
    breaks: "changes.5",
    find: "if (announced !== true || !isNew || undoing || call.scope.closed) return null;",
    replace: "if (announced !== undefined || !isNew || undoing || call.scope.closed) return null;",
    why: "A booking is made although the approval before it was lost.",
    seenBy: tableSeenBy,
  },
  {
    name: "call-made-again-taken-for-a-rename",
    breaks: "changes.6",
    find: "const asked = fresh.filter(({ key }) => !journal.isLeft(key));",
    replace: "const asked = fresh;",
    why: "A fork of reordered code is blocked by a call that it was told to make again.",
    seenBy: tableSeenBy,
  },
  {
    name: "removed-call-taken-for-renamed",
    breaks: "renames.1",
    find: "record.after >= (entered.past ?? -1)",
    replace: "record.after >= -1",
    why: "A step after the wait is blocked because a step before it was removed.",
    seenBy: renamesSeenBy,
  },
  {
    name: "key-read-is-not-paid",
    breaks: "renames.2",
    find: 'record.metered || record.work === "key"',
    replace: "record.metered",
    why: "A renamed charge that passes its idempotency key runs again, with another key.",
    seenBy: renamesSeenBy,
  },
  {
    name: "inserted-calls-count-as-later",
    breaks: "renames.3",
    find: "if (record !== undefined && !record.inserted) scope.past",
    replace: "if (record !== undefined) scope.past",
    why: "After two inserts a renamed charge is taken for new work.",
    seenBy: renamesSeenBy,
  },
  {
    name: "lost-words-count-as-changes",
    breaks: "replay.4",
    find: 'path === "" || isWithin(key, path);',
    replace: 'path === "/" && isWithin(key, path);',
    why: "A run whose stream says other words after a crash is blocked for ever.",
    seenBy,
  },
  {
    name: "first-words-written-late",
    breaks: "stream.4",
    find: 'if (fact.kind !== "stream.chunks") for (const flush of this.unwritten) flush();',
    replace: "",
    why: "What the code recorded because of lost words is taken for a sign of changed code.",
    seenBy,
  },
  {
    name: "inserted-wait-blocks",
    breaks: "vanished.1",
    find: "return seq === Infinity || parks.some((park) => opened.seq < park && park < seq);",
    replace: "return seq < 0;",
    why: "A wait that was inserted before the open one blocks the run before it can be answered.",
    seenBy: tableSeenBy,
  },
  {
    name: "allowed-change-loses-no-wait",
    breaks: "vanished.2",
    find: "seq > journal.loose && !replay.isCalled(key)",
    replace: "!replay.isCalled(key)",
    why: "A retry that allows changes is blocked by a wait that the code no longer has.",
    seenBy: tableSeenBy,
  },
];
