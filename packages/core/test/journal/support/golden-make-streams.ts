/** The makers of the journals of streams, children and sealed values. */

import { Journal, type Outcome } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { faultyStorage } from "@durable/testing";
import { book, charges, school, streams } from "./golden-flows-streams.ts";
import { appOf, onward, place, secret, tokenOf, type Makers, type Place } from "./golden-place.ts";

/** The key of the recorded journals is constant, so it may open them but not seal. */
export const goldenCipher = aesGcm({
  current: "today",
  keys: { today: Uint8Array.from({ length: 32 }, (_, at) => at), golden: new Uint8Array(32).fill(54) },
});

/** Runs until the append of this number, and dies before it lands, or right after. */
async function dies(
  at: Place,
  append: number,
  run: (at: Place) => Promise<unknown>,
  how = "crash-before" as const,
): Promise<void> {
  const { world } = at;
  const plan = (operation: string, index: number) =>
    operation === "append" && index === append ? how : null;
  const storage = faultyStorage(at.storage, { world, plan });
  await world.run<unknown>(Promise.race([run({ ...at, storage }), storage.died]));
}

async function parkedStreams(at: Place, id: string): Promise<Outcome<unknown>> {
  await at.world.run(streams.with({ ...at, secret }).run(undefined, { id }));
  return onward(at, id);
}

async function inDoubt(at: Place, id: string): Promise<Outcome<unknown>> {
  // Nine appends: the ninth is to say that the charge went well.
  await dies(at, 9, (dying) => charges.with({ ...dying, secret }).run(undefined, { id }));
  await at.world.advance(60_000);
  return onward(at, id);
}

const manuscript = { title: "Tides", notes: "a long note, ".repeat(400) };

async function parkedBook(at: Place, id: string): Promise<Outcome<unknown>> {
  return at.world.run(book.with({ ...at, secret }).run(manuscript, { id }));
}

async function readAll(stream: ReadableStream<unknown>): Promise<void> {
  for await (const _ of stream);
}

export const makersOfStreams: Makers = {
  "completed-streams": async () => {
    const at = place();
    const parked = await parkedStreams(at, "streams-1");
    await at.world.run(appOf(at).resume(tokenOf(parked, "read"), "read"));
    return [at, "streams-1"];
  },
  "parked-after-streams": async () => {
    const at = place();
    await parkedStreams(at, "streams-2");
    return [at, "streams-2"];
  },
  "died-in-a-stream": async () => {
    const at = place();
    await dies(at, 4, (dying) => streams.with({ ...dying, secret }).run(undefined, { id: "streams-3" }));
    return [at, "streams-3"];
  },
  "forked-stream-edited": async () => {
    const at = place();
    await parkedStreams(at, "streams-4");
    const edit = { tokens: ["Good", "bye"] };
    const fork = await streams.with({ ...at, secret }).fork("streams-4", { edit, id: "fork-4" });
    await at.world.run(fork.result().catch(() => null));
    await onward(at, "fork-4");
    return [at, "fork-4"];
  },
  "completed-school": async () => {
    const at = place();
    const parked = await at.world.run(school.with({ ...at, secret }).run(undefined, { id: "school-1" }));
    await at.world.run(appOf(at).resume(tokenOf(parked, "ask"), "the tides"));
    await onward(at, "school-1");
    return [at, "school-1"];
  },
  "parked-in-children": async () => {
    const at = place();
    await at.world.run(school.with({ ...at, secret }).run(undefined, { id: "school-2" }));
    return [at, "school-2"];
  },
  "a-child": async () => {
    const at = place();
    await at.world.run(school.with({ ...at, secret }).run(undefined, { id: "school-3" }));
    const { runs } = await at.storage.list({ workflow: "pupil", status: "suspended" });
    return [at, runs[0]?.runId ?? ""];
  },
  "forked-child-edited": async () => {
    const at = place();
    await at.world.run(school.with({ ...at, secret }).run(undefined, { id: "school-4" }));
    const edit = { teacher: ["taught by hand"] };
    const fork = await school.with({ ...at, secret }).fork("school-4", { edit, id: "fork-5" });
    await at.world.run(fork.result());
    return [at, "fork-5"];
  },
  "completed-charges": async () => {
    const at = place();
    const asked = await inDoubt(at, "charges-1");
    const answer = { status: "completed", value: "charged before" };
    await at.world.run(appOf(at).resume(tokenOf(asked, "uncertain"), answer));
    return [at, "charges-1"];
  },
  "parked-in-doubt": async () => {
    const at = place();
    await inDoubt(at, "charges-2");
    return [at, "charges-2"];
  },
  "died-in-doubt": async () => {
    const at = place();
    await dies(at, 9, (dying) => charges.with({ ...dying, secret }).run(undefined, { id: "charges-3" }));
    return [at, "charges-3"];
  },
  "completed-book": async () => {
    const at = place();
    const parked = await parkedBook(at, "book-1");
    await at.world.run(appOf(at).resume(tokenOf(parked, "letter"), "dear reader, ".repeat(400)));
    return [at, "book-1"];
  },
  "forked-book": async () => {
    const at = place();
    await parkedBook(at, "book-2");
    const fork = await book.with({ ...at, secret }).fork("book-2", { from: "page#3", id: "fork-6" });
    await at.world.run(fork.result().catch(() => null));
    return [at, "fork-6"];
  },
  "sealed-book": async () => {
    const at = { ...place(), encryption: goldenCipher };
    const parked = await parkedBook(at, "book-3");
    await at.world.run(appOf(at).resume(tokenOf(parked, "letter"), "dear reader"));
    return [at, "book-3"];
  },
  "sealed-fork": async () => {
    const at = { ...place(), encryption: goldenCipher };
    await parkedStreams(at, "streams-5");
    const edit = { tokens: ["Good", "bye"] };
    const fork = await streams.with({ ...at, secret }).fork("streams-5", { edit, id: "fork-7" });
    await at.world.run(fork.result().catch(() => null));
    await onward(at, "fork-7");
    return [at, "fork-7"];
  },
  direct: async () => {
    const at = place();
    const journal = await Journal.open("direct-1", at);
    const record = (key: string, work: () => unknown): Promise<unknown> =>
      at.world.run(journal.record(key, work, { input: key }));
    await record("answer", () => ({ text: "42", when: new Date(0) }));
    await record("refused", () => Promise.reject(new Error("once"))).catch(() => {});
    await at.world.run(readAll(journal.recordStream("tokens", () => ["Hel", "lo"])));
    return [at, "direct-1"];
  },
};
