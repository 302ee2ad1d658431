/** Bugs in tags, in spawned runs, and in workers of some versions. */
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

export const plantedInFinding: readonly PlantedBug[] = [...tags, ...spawned, ...workers];
