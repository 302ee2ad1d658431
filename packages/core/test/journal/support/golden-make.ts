/**
 * Makes the journals of test/golden: one for each way a run can stand, and a SQLite file of today's schema. Run it to
 * add what is missing, and format it then: what is there was written by the build of its day, and that is its worth.
 *
 *     npm run golden:record [-- --all]
 */

import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp, durable, type Outcome } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { faultyStorage, recordGolden, virtualWorld } from "@durable/testing";
import { schemaVersion } from "../../../src/adapters/sqlite/schema.ts";
import { branches, failing, renamed, renamedBefore, reviews, sequence } from "./golden-flows.ts";
import { book } from "./golden-flows-streams.ts";
import { rounds } from "./golden-flows-chapters.ts";
import { makersOfStreams } from "./golden-make-streams.ts";
import { makersOfLimits } from "./golden-limits.ts";
import { makersFind } from "./golden-make-find.ts";
import { dropEarlier, makersOfChapters, written } from "./golden-make-chapters.ts";
import { makersOfEnds } from "./golden-make-ends.ts";
import { makersSteered } from "./golden-steer.ts";
import { sumOf } from "./golden-sums.ts";
import { appOf, onward, place, secret, tokenOf, type Makers, type Place } from "./golden-place.ts";

const folder = fileURLToPath(new URL("../golden/", import.meta.url));
const hour = 3_600_000;

const reviewed = { ok: true, by: "Ada" };

/** A run of `reviews` that waits for its last answer: with a bad answer, an early one and two that came in time. */
async function toTheMail(at: Place, id: string): Promise<Outcome<unknown>> {
  const app = appOf(at);
  const flow = reviews.with({ ...at, secret });
  const parked = await at.world.run(flow.run(undefined, { id }));
  await app.resume(tokenOf(parked, "credit"), { ok: "perhaps" }, { drive: false });
  const rejected = await at.world.run(app.advance(id));
  await app.resume(tokenOf(rejected, "credit"), { ok: false }, { drive: false });
  await at.world.run(app.advance(id));
  await at.world.run(flow.resume(tokenOf(rejected, "appraisal"), reviewed, { id: "mail-1" }));
  return onward(at, id);
}

const makers: Makers = {
  "completed-sequence": async () => {
    const at = place();
    await at.world.run(sequence.with({ ...at, secret, version: "7" }).run({ n: 3 }, { id: "sequence-1" }));
    await onward(at, "sequence-1");
    return [at, "sequence-1"];
  },
  "parked-in-a-sleep": async () => {
    const at = place();
    await at.world.run(sequence.with({ ...at, secret }).run({ n: 1 }, { id: "sequence-2" }));
    return [at, "sequence-2"];
  },
  "parked-before-a-retry": async () => {
    const at = place();
    const flow = sequence.with({ ...at, secret, patience: 0 });
    const impatient = createApp({ ...at, secret, patience: 0, workflows: [sequence] });
    let outcome: Outcome<unknown> = await at.world.run(flow.run({ n: 2 }, { id: "sequence-3" }));
    for (let waits = 0; waits < 2; waits++) {
      await at.world.advance((outcome.status === "suspended" ? (outcome.wakeAt ?? 0) : 0) - at.world.now());
      outcome = await at.world.run(impatient.advance("sequence-3"));
    }
    return [at, "sequence-3"];
  },
  "completed-reviews": async () => {
    const at = place();
    const late = await toTheMail(at, "reviews-1");
    await at.world.run(appOf(at).resume(tokenOf(late, "mailed"), 42));
    return [at, "reviews-1"];
  },
  "parked-with-answers": async () => {
    const at = place();
    await toTheMail(at, "reviews-2");
    return [at, "reviews-2"];
  },
  "parked-in-branches": async () => {
    const at = place();
    await at.world.run(reviews.with({ ...at, secret }).run(undefined, { id: "reviews-3" }));
    return [at, "reviews-3"];
  },
  "early-answer": async () => {
    const at = place();
    const elsewhere = place();
    // Tokens follow from run and wait alone, so another copy of the run knows the one that is still to come.
    const twin = await toTheMail(elsewhere, "reviews-4");
    const parked = await at.world.run(reviews.with({ ...at, secret }).run(undefined, { id: "reviews-4" }));
    await appOf(at).resume(tokenOf(twin, "mailed"), 7, { id: "early", drive: false });
    await at.world.run(appOf(at).resume(tokenOf(parked, "credit"), reviewed));
    return [at, "reviews-4"];
  },
  "completed-branches": async () => {
    const at = place();
    const outcome = await at.world.run(branches.with({ ...at, secret }).run(undefined, { id: "branches-1" }));
    await at.world.run(appOf(at).resume(tokenOf(outcome, "ok"), "yes"));
    return [at, "branches-1"];
  },
  "completed-branches-timer": async () => {
    const at = place();
    await at.world.run(branches.with({ ...at, secret }).run(undefined, { id: "branches-2" }));
    await at.world.advance(hour);
    await onward(at, "branches-2");
    return [at, "branches-2"];
  },
  failed: async () => {
    const at = place();
    await at.world.run(failing.with({ ...at, secret }).run(undefined, { id: "failing-1" }));
    return [at, "failing-1"];
  },
  cancelled: async () => {
    const at = place();
    await at.world.run(reviews.with({ ...at, secret }).run(undefined, { id: "reviews-5" }));
    await appOf(at).cancel("reviews-5", { reason: "no longer needed" });
    return [at, "reviews-5"];
  },
  "died-under-way": async () => {
    const at = place();
    const dying = faultyStorage(at.storage, {
      world: at.world,
      plan: (operation, index) => (operation === "append" && index === 4 ? "crash-after" : null),
    });
    const run = sequence.with({ ...at, storage: dying, secret }).run({ n: 4 }, { id: "sequence-4" });
    await at.world.run(Promise.race([run, dying.died]));
    return [at, "sequence-4"];
  },
  orphans: async () => {
    const at = place();
    const parked = await at.world.run(
      renamedBefore.with({ ...at, secret }).run(undefined, { id: "renamed-1" }),
    );
    await at.world.run(renamed.with({ ...at, secret }).resume(tokenOf(parked, "approve"), "fine"));
    return [at, "renamed-1"];
  },
  ...forks(),
  ...makersOfStreams,
  ...makersOfChapters,
  ...makersOfEnds,
  ...makersOfLimits,
  ...makersFind,
  ...makersSteered,
};

/** A fork, a fork of it, and one with edits, another input and a label. */
function forks(): Makers {
  const parent = async (): Promise<Place> => {
    const at = place();
    const late = await toTheMail(at, "reviews-6");
    await at.world.run(appOf(at).resume(tokenOf(late, "mailed"), 42));
    return at;
  };
  const forked = async (at: Place): Promise<void> => {
    const flow = reviews.with({ ...at, secret });
    const fork = await flow.fork("reviews-6", { from: "parallel[appraisal]/pull", id: "fork-1" });
    await at.world.run(fork.result().catch(() => null));
  };
  return {
    "forked-parked": async () => {
      const at = await parent();
      await forked(at);
      return [at, "fork-1"];
    },
    "forked-of-forked": async () => {
      const at = await parent();
      await forked(at);
      const flow = reviews.with({ ...at, secret });
      const asked = await flow.get("fork-1").outcome();
      await at.world.run(flow.resume(tokenOf(asked, "appraisal"), { ok: false }));
      const fork = await flow.fork("fork-1", {
        edit: { "parallel[appraisal]/file": "filed by hand" },
        label: "by hand",
        id: "fork-2",
      });
      await at.world.run(fork.result().catch(() => null));
      await onward(at, "fork-2");
      return [at, "fork-2"];
    },
    "forked-other-input": async () => {
      const at = place();
      await at.world.run(sequence.with({ ...at, secret }).run({ n: 5 }, { id: "sequence-5" }));
      const flow = sequence.with({ ...at, secret, version: "8" });
      const fork = await flow.fork("sequence-5", { from: "plan", input: { n: 6 }, id: "fork-3" });
      await at.world.run(fork.outcome());
      await at.world.advance(1_000);
      await onward(at, "fork-3");
      return [at, "fork-3"];
    },
  };
}

/** One file with runs that are parked, over, forked, in chapters and blocked, checkpointed, so that it is one file. */
async function makeDatabase(path: string): Promise<void> {
  const world = virtualWorld();
  const storage = new SqliteStorage({ path, now: () => world.now() });
  const at = { world, storage };
  await toTheMail(at, "sqlite-parked");
  await world.run(book.with({ ...at, secret }).run({ title: "Tides", notes: "" }, { id: "sqlite-blobs" }));
  await world.run(failing.with({ ...at, secret }).run(undefined, { id: "sqlite-failed" }));
  const fork = await reviews
    .with({ ...at, secret })
    .fork("sqlite-parked", { after: "parallel", id: "sqlite-fork" });
  await world.run(fork.result().catch(() => null));
  await written(at, "sqlite-chapters", 3);
  await dropEarlier(at, "sqlite-chapters");
  await world.run(rounds.with({ ...at, secret }).run(undefined, { id: "sqlite-blocked" }));
  const changed = durable("rounds", (ctx) => ctx.step("more", () => "not asked"));
  await world.run(createApp({ ...at, secret, workflows: [changed] }).advance("sqlite-blocked"));
  await storage.close();
  for (const more of ["-wal", "-shm"]) rmSync(`${path}${more}`, { force: true });
}

// Stacks would name folders of the machine they were made on.
Error.stackTraceLimit = 0;
mkdirSync(folder, { recursive: true });
const all = process.argv.includes("--all");
const made: string[] = [];
if (all) rmSync(join(folder, "sums.txt"), { force: true });
for (const [name, make] of Object.entries(makers)) {
  const file = join(folder, `${name}.json`);
  if (existsSync(file) && !all) continue;
  const [{ storage, encryption }, runId] = await make();
  const golden = await recordGolden(storage, runId, encryption === undefined ? {} : { encryption });
  writeFileSync(file, `${JSON.stringify(golden, null, 2)}\n`);
  made.push(file);
}
// A file of an older schema can only be made by the build of its day.
const database = join(folder, `schema-${schemaVersion}.db`);
if (!existsSync(database) || all) {
  rmSync(database, { force: true });
  await makeDatabase(database);
  made.push(database);
}
for (const file of made) appendFileSync(join(folder, "sums.txt"), `${sumOf(file)}\n`);
console.log(`golden: ${made.length} files made, in ${folder}`);
