/** Bugs in tags, in searches and what they show, in spawned runs, and in workers of some versions or with a storage that fails. */
import type { PlantedBug } from "./patch.ts";

const tags: readonly PlantedBug[] = [
  {
    name: "tag-with-an-append",
    breaks: "tag.1",
    beside: "tag.1.",
    find: "    engine.writeWithNext({",
    replace: "    engine.write({",
    why: "A change of tags causes an append of its own.",
    seenBy: {
      test: "packages/core/test/runs/tags.test.ts",
      because: "an append more is not wrong, only slower",
    },
  },
  {
    name: "tag-recorded-again",
    breaks: "tag.2",
    find: "  const isRecorded = engine.replay.record(key) !== undefined;",
    replace: "  const isRecorded = false;",
    why: "Every replay records the changes of tags again.",
    seenBy: {
      test: "packages/core/test/runs/tags.test.ts",
      because: "the same change again leaves the same tags",
    },
  },
  {
    name: "tags-counted-by-the-head",
    breaks: "tag.3",
    find: "  const after = new Set(names);",
    replace: "  const after = new Set(Object.keys(engine.journal.state.summary.tags ?? {}));",
    why: "Whether there are too many tags depends on what the head has, so replay may throw elsewhere.",
    seenBy: {
      test: "packages/core/test/runs/tags.test.ts",
      because: "generated workflows set few tags",
    },
  },
];

const spawned: readonly PlantedBug[] = [
  {
    name: "spawned-before-its-entry",
    breaks: "spawn.1",
    find: "    const opened = this.record?.opened === true;",
    replace: "    const opened = true;",
    why: "A spawned run begins although its parent has not recorded it.",
  },
  {
    name: "spawned-under-a-new-id",
    breaks: "spawn.2",
    find: "recorded?.child ?? id ?? childIdOf(parent.runId, key, parent.nonce);",
    replace: "id ?? childIdOf(host.world.id(), key, parent.nonce);",
    why: "A driver that takes over spawns a second run.",
  },
  {
    name: "spawned-in-the-end",
    breaks: "spawn.3",
    find: "    await recordSpawned(",
    replace: "    void recordSpawned(",
    why: "The workflow gets the id of a run that may never be recorded.",
  },
];

const workers: readonly PlantedBug[] = [
  {
    name: "worker-of-every-workflow",
    breaks: "worker.5",
    find: "const { workflows = app.workflows, versions } = options;",
    replace: "const [workflows, versions] = [app.workflows, options.versions];",
    why: "A worker that is kept to some workflows takes runs of all.",
  },
  {
    name: "worker-of-every-version",
    breaks: "worker.5",
    find: "    const { workflows, versions: version } = this.#options;\n    const paused",
    replace:
      "    const { workflows } = this.#options;\n    const version = undefined as readonly string[] | undefined;\n    const paused",
    why: "A worker claims runs that it must not drive, and keeps them from others.",
    seenBy: {
      test: "packages/core/test/worker-versions.test.ts",
      because: "the driver refuses such a run, so that it is only late",
    },
  },
];

const searched = {
  test: "packages/core/test/search.test.ts",
  because: "nobody searches in a simulation",
};

const searches: readonly PlantedBug[] = [
  {
    name: "unknown-filter-is-a-word",
    breaks: "search.1",
    find: '      problems.push(`"${part}" is not a filter. ${usage} To search the text, write it in quotes.`);\n',
    replace: "      words.push(part);\n",
    why: "A filter with a typing error silently finds nothing.",
    seenBy: searched,
  },
  {
    name: "time-left-to-the-storage",
    breaks: "search.2",
    find: "      head.createdAt >= (createdAfter ?? -Infinity) &&\n",
    replace: "",
    why: "On a storage that finds nothing, a search since yesterday has runs of last year.",
    seenBy: searched,
  },
  {
    name: "one-tag-is-enough",
    breaks: "search.3",
    find: "Object.entries(tags ?? {}).every(([name, value]) => head.tags?.[name] === value)",
    replace: "(!tags || Object.entries(tags).some(([name, value]) => head.tags?.[name] === value))",
    why: "A search for two tags finds runs that have one of them.",
    seenBy: searched,
  },
  {
    name: "word-finds-sealed-errors",
    breaks: "search.4",
    find: "const values = encrypted ? [] : [",
    replace: "const values = [",
    why: "With encryption, a search by words tells what is in messages of errors and in questions.",
    seenBy: searched,
  },
  {
    name: "array-read-as-a-chunk",
    breaks: "answer.1",
    find: "isPart(part) && chunk.length === 2 ? [part] : [chunk]",
    replace: "isPart(part) ? [part] : [chunk]",
    why: "A value of a program is shown as what a model said.",
    seenBy: {
      test: "packages/ai-sdk/test/answers.test.ts",
      because: "a simulation shows no values",
    },
  },
];

const outages = {
  test: "packages/core/test/worker-faults.test.ts",
  because: "a simulated worker may be as slow or as eager as it likes, and nobody reads its warnings",
};

const faults: readonly PlantedBug[] = [
  {
    name: "taken-as-fast-from-a-sick-storage",
    breaks: "storage-health.1",
    find: "      this.#holdUntil = now + holdMs * (0.5 + this.#world.random() / 2);\n",
    replace: "",
    why: "A worker whose storage fails takes every run as soon as it is due, and keeps it from healthy workers.",
    seenBy: outages,
  },
  {
    name: "each-fault-is-said",
    breaks: "storage-health.2",
    find: "      this.#saidAt = now;\n",
    replace: "",
    why: "An outage is a warning for each drive that it ends.",
    seenBy: outages,
  },
];

export const plantedInFinding: readonly PlantedBug[] = [
  ...tags,
  ...searches,
  ...spawned,
  ...workers,
  ...faults,
];
