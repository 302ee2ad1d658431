/** Bugs in purges. */
import type { PlantedBug } from "./patch.ts";

function seenBy(test: string, because: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/${test}.test.ts`, because };
}

const rare = "a run that changes between a list and its deletion is rare in a simulation";
const unjudged = "no simulation counts what a purge holds or when it rests";

export const plantedInPurges: readonly PlantedBug[] = [
  {
    name: "purge-of-what-was-listed",
    breaks: "purge.1",
    find: "if (journal === null || !isUnchanged({ ...head, ...journal.state.summary }, head)) continue;",
    replace: "if (journal === null) continue;",
    why: "A run that was begun anew under its id is deleted, because the run before it had ended.",
    seenBy: seenBy("runs/purge", rare),
  },
  {
    name: "parent-purged-first",
    breaks: "purge.2",
    find: "[...(below.get(head.runId) ?? []).flatMap(familyOf), head];",
    replace: "[head, ...(below.get(head.runId) ?? []).flatMap(familyOf)];",
    why: "A purge that is interrupted leaves children without their parent.",
    seenBy: seenBy("runs/purge-crash", "a simulation does not look for children without a parent"),
  },
  {
    name: "child-purged-alone",
    breaks: "purge.3",
    find: "return length > 0 && deleted !== true;",
    replace: "return length < 0 && deleted !== true;",
    why: "The children of a run that still runs disappear when they have ended.",
    seenBy: seenBy("runs/purge", "an ended child is not read again, so nothing else breaks"),
  },
  {
    name: "purge-of-one-page",
    breaks: "purge.4",
    find: "purgePage: 500,",
    replace: "purgePage: 1_000,",
    why: "A purge holds more runs in memory than one page.",
    seenBy: seenBy("runs/purge", unjudged),
  },
  {
    name: "purge-without-rest",
    breaks: "purge-work.1",
    find: "await pause(world, Math.max(1, restFactor * (world.now() - from)), signal);",
    replace: "await world.turn();",
    why: "A purge in the background takes all the time that the storage has.",
    seenBy: seenBy("worker-purge", unjudged),
  },
  {
    name: "purge-without-turn",
    breaks: "purge-work.2",
    find: "  if (!(await take())) return;\n",
    replace: "",
    why: "Every worker of a fleet purges in each period.",
    seenBy: seenBy("worker-purge", unjudged),
  },
  {
    name: "purge-gives-up",
    breaks: "purge-work.3",
    beside: "purge-work.3.",
    find: "    } catch (error) {\n      world.warn(",
    replace: "    } catch (error) {\n      return world.warn(",
    why: "After one lost request a worker never purges again.",
    seenBy: seenBy("worker-purge", unjudged),
  },
];
