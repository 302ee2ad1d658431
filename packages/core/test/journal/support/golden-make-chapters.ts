/** The makers of the journals of nonces, chapters and messages. */

import type { Outcome } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import {
  captain,
  copyist,
  courier,
  hasty,
  logbook,
  postbox,
  rounds,
  voyage,
} from "./golden-flows-chapters.ts";
import { goldenCipher } from "./golden-make-streams.ts";
import { losing } from "../../support/losing.ts";
import { pace } from "./golden-flows.ts";
import { appOf, onward, place, secret, tokenOf, type Makers, type Place } from "./golden-place.ts";

const day = 86_400_000;

async function answer(at: Place, runId: string, name: string, value: unknown): Promise<Outcome<unknown>> {
  const app = appOf(at);
  const token = tokenOf(await app.get(runId).outcome(), name);
  await at.world.run(app.resume(token, value));
  return at.world.run(app.advance(runId));
}

async function embarked(at: Place, id: string): Promise<void> {
  await at.world.run(voyage.with({ ...at, secret }).run({ to: "sea" }, { id }));
}

async function toTheRating(at: Place, id: string): Promise<void> {
  await embarked(at, id);
  await answer(at, id, "visa", "granted");
  await answer(at, id, "ask", "yes");
  await at.world.advance(day);
  await at.world.run(appOf(at).advance(id));
}

/** A logbook that waits on this day. */
export async function written(at: Place, id: string, days: number): Promise<void> {
  await at.world.run(logbook.with({ ...at, secret }).run({ day: 1, notes: [] }, { id }));
  for (let n = 1; n < days; n++) await answer(at, id, "note", `note of day ${n}`);
}

/** Removes the chapters before the current one. */
export async function dropEarlier({ storage }: Place, id: string): Promise<void> {
  const { runs } = await storage.list({ workflow: "logbook" });
  const head = runs.find(({ runId }) => runId === id);
  if (head?.chapter === undefined) throw new Error(`Run ${id} has no chapters.`);
  await storage.dropChapters?.(head.locator, head.chapter);
}

/** A postbox that got letters before it was first driven. */
async function posted(at: Place, id: string, letters: number): Promise<void> {
  const app = appOf(at);
  await at.world.run(postbox.with({ ...at, secret }).start([], { id, drive: false }));
  for (let n = 1; n <= letters; n++)
    await at.world.run(app.send(id, "letter", { n, at: new Date(n) }, { id: `letter ${n}` }));
  await at.world.run(app.advance(id));
}

/** Each fork goes back to the last wait of the one before, and adds a round. */
async function line(at: Place, length: number): Promise<string> {
  const flow = rounds.with({ ...at, secret });
  await at.world.run(flow.run(undefined, { id: "line-0" }));
  for (let n = 1; n <= length; n++) {
    const from = n === 1 ? "more" : `more#${n}`;
    const fork = await flow.fork(`line-${n - 1}`, { from, id: `line-${n}` });
    await at.world.run(fork.result().catch(() => null));
    await answer(at, `line-${n}`, "more", `fork ${n}`);
  }
  return `line-${length}`;
}

const childOf = async ({ storage }: Place, parent: string): Promise<string> =>
  (await storage.list({ parent })).runs[0]?.runId ?? "";

export const makersOfChapters: Makers = {
  "progress-parked": async () => {
    const at = place();
    await at.world.run(copyist.with({ ...at, secret }).run(undefined, { id: "copyist-1" }));
    return [at, "copyist-1"];
  },
  "regressed-parked": async () => {
    const at = place();
    const { storage, forget } = losing(() => at.world.now());
    pace.wait = () => forget(2);
    await at.world.run(courier.with({ ...at, storage, secret }).run(undefined, { id: "courier-1" }));
    return [{ ...at, storage }, "courier-1"];
  },
  "nonce-completed": async () => {
    const at = place();
    await toTheRating(at, "voyage-1");
    await answer(at, "voyage-1", "rate", 5);
    return [at, "voyage-1"];
  },
  "nonce-parked": async () => {
    const at = place();
    await embarked(at, "voyage-2");
    return [at, "voyage-2"];
  },
  "nonce-forked": async () => {
    const at = place();
    await toTheRating(at, "voyage-3");
    const edit = { "parallel[visa]/visa": "denied" };
    const fork = await voyage.with({ ...at, secret }).fork("voyage-3", { edit, id: "voyage-4" });
    await at.world.run(fork.outcome());
    await at.world.advance(day);
    await at.world.run(appOf(at).advance("voyage-4"));
    return [at, "voyage-4"];
  },
  "nonce-died": async () => {
    const at = place();
    const { world } = at;
    const plan = (operation: string, index: number) =>
      operation === "append" && index === 2 ? ("crash-after" as const) : null;
    const storage = faultyStorage(at.storage, { world, plan });
    const run = voyage.with({ ...at, storage, secret }).run({ to: "sea" }, { id: "voyage-5" });
    await world.run<unknown>(Promise.race([run, storage.died]));
    return [at, "voyage-5"];
  },
  "line-with-an-anchor": async () => {
    const at = place();
    return [at, await line(at, 18)];
  },
  "chapter-3-parked": async () => {
    const at = place();
    await written(at, "logbook-1", 3);
    return [at, "logbook-1"];
  },
  "chapters-completed": async () => {
    const at = place();
    await written(at, "logbook-2", 2);
    await answer(at, "logbook-2", "note", "end");
    return [at, "logbook-2"];
  },
  "scored-completed": async () => {
    const at = { ...place(), encryption: goldenCipher };
    await written(at, "logbook-9", 1);
    const run = appOf(at).get("logbook-9");
    await at.world.run(run.score("helpful", 0.5, "not yet"));
    await answer(at, "logbook-9", "note", "of the first day");
    await answer(at, "logbook-9", "note", "end");
    await at.world.run(run.score("helpful", true, "at last"));
    await at.world.run(run.score("short", 1));
    await at.world.run(run.score("short", null));
    return [at, "logbook-9"];
  },
  "chapters-dropped": async () => {
    const at = place();
    await written(at, "logbook-3", 3);
    await dropEarlier(at, "logbook-3");
    return [at, "logbook-3"];
  },
  "chapters-sealed": async () => {
    const at = { ...place(), encryption: goldenCipher };
    await written(at, "logbook-4", 3);
    await dropEarlier(at, "logbook-4");
    return [at, "logbook-4"];
  },
  "forked-of-a-chapter": async () => {
    const at = place();
    await written(at, "logbook-5", 3);
    const fork = await logbook
      .with({ ...at, secret })
      .fork("logbook-5", { edit: { page: ["by hand"] }, id: "logbook-6" });
    await at.world.run(fork.result().catch(() => null));
    await answer(at, "logbook-6", "note", "end");
    return [at, "logbook-6"];
  },
  "forked-then-continued": async () => {
    const at = place();
    await written(at, "logbook-7", 1);
    const fork = await logbook
      .with({ ...at, secret })
      .fork("logbook-7", { from: "note", label: "goes on", id: "logbook-8" });
    await at.world.run(fork.result().catch(() => null));
    await answer(at, "logbook-8", "note", "of a fork");
    return [at, "logbook-8"];
  },
  "parked-in-a-continued-child": async () => {
    const at = place();
    await at.world.run(captain.with({ ...at, secret }).run(undefined, { id: "captain-1" }));
    await answer(at, "captain-1", "note", "ahoy");
    return [at, "captain-1"];
  },
  "completed-with-a-continued-child": async () => {
    const at = place();
    await at.world.run(captain.with({ ...at, secret }).run(undefined, { id: "captain-2" }));
    await answer(at, "captain-2", "note", "ahoy");
    await answer(at, "captain-2", "note", "end");
    return [at, "captain-2"];
  },
  "a-continued-child": async () => {
    const at = place();
    await at.world.run(captain.with({ ...at, secret }).run(undefined, { id: "captain-3" }));
    await answer(at, "captain-3", "note", "ahoy");
    return [at, await childOf(at, "captain-3")];
  },
  "messages-parked": async () => {
    const at = place();
    await posted(at, "postbox-1", 3);
    return [at, "postbox-1"];
  },
  "messages-completed": async () => {
    const at = { ...place(), encryption: goldenCipher };
    await posted(at, "postbox-2", 5);
    const parked = await onward(at, "postbox-2");
    await appOf(at).resume(tokenOf(parked, "done"), undefined, {
      error: new TypeError("lost at sea"),
      drive: false,
    });
    await onward(at, "postbox-2");
    return [at, "postbox-2"];
  },
  "ended-with-leftovers": async () => {
    const at = place();
    await at.world.run(hasty.with({ ...at, secret }).run("ends", { id: "hasty-1" }));
    return [at, "hasty-1"];
  },
  "failed-with-leftovers": async () => {
    const at = place();
    await at.world.run(hasty.with({ ...at, secret }).run("fails", { id: "hasty-2" }));
    return [at, "hasty-2"];
  },
};
