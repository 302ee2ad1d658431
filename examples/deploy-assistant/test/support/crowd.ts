/**
 * Many people in conversation with the assistant at once, by SMTP and webhook, while its processes are killed.
 *
 * K1. Every conversation ends as its replies say.
 * K2. A question has one token, however often it was sent: a person sees as many tokens as there were rounds.
 * K3. What was sent has a record in the end, under the Message-ID it was sent with, and nothing else has.
 * K4. Of all replies to one question at most one gets `resumed`, the others `duplicate`; forged ones get `ignored`.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Entry } from "@durable/core/types";
import { seeded, type Random } from "@durable/testing";
import PostalMime from "postal-mime";
import type { Ending } from "../../src/assistant.ts";
import type { Sent } from "example-mail";
import { Fleet } from "./fleet.ts";
import { openMailServer } from "./mail-server.ts";
import { Person } from "./person.ts";
import { Place } from "./server-process.ts";

export interface CrowdOptions {
  readonly people: number;
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (text: string) => void;
}

export interface CrowdReport {
  readonly people: number;
  readonly kills: number;
  /** Requests that got no answer, because the server died under them. */
  readonly cutOff: number;
  /** Mails the SMTP server took, those that were sent again included. */
  readonly mails: number;
  readonly sentAgain: number;
  /** The statuses of requests, and the ends of conversations, each with its count. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly endings: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** A conversation that has not ended by then has stalled. */
const patienceMs = 300_000;

export async function crowd({
  people,
  kills,
  seed,
  progress = () => {},
}: CrowdOptions): Promise<CrowdReport> {
  const startedAt = performance.now();
  const random = seeded(seed);
  const place = new Place();
  const persons: Person[] = [];
  const knife = new Knife();
  const server = await openMailServer({
    onMail: async ({ to: [to = ""], raw }) => {
      await knife.mailIsOut();
      await persons[Number(to.slice(1).split("@")[0])]?.read(await PostalMime.parse(raw));
    },
  });
  const fleet = new Fleet(place, { SMTP_URL: server.url }, random);
  try {
    await fleet.ready();
    for (let at = 0; at < people; at++) persons.push(new Person(at, seeded(seed * 10_000 + at), fleet));
    const killed = knife.strike(fleet, { kills, random, progress });
    await Promise.all(persons.map((person) => person.begin()));
    await killed;
    const entries = await allEnded(place, persons, progress);
    await Promise.all(persons.map((person) => person.done()));
    const endings = persons.map((_, at) => endingOf(entries[at] ?? []));
    const complaint = persons
      .map((person, at) => person.complaint(endings[at]))
      .find((text) => text !== null);
    if (complaint !== undefined) throw new Error(complaint);
    const mails = await Promise.all(server.taken.map(({ raw }) => PostalMime.parse(raw)));
    const sent = mails.map(({ messageId }) => messageId ?? "");
    checkRecords(new Set(sent), new Set(entries.flatMap((list) => list.flatMap(recordedMail))));
    return {
      people,
      kills: fleet.kills,
      cutOff: fleet.cutOff,
      mails: sent.length,
      sentAgain: sent.length - new Set(sent).size,
      statuses: fleet.statuses,
      endings: counted(endings),
      seconds: Math.round((performance.now() - startedAt) / 1_000),
    };
  } finally {
    await fleet.close();
    await server.close();
    await place.remove();
  }
}

/** Strikes by the clock, or in the moment when a mail is out and its sender does not know it. */
class Knife {
  #strike: (() => Promise<void>) | null = null;

  /** Called while a mail is being taken. */
  async mailIsOut(): Promise<void> {
    const strike = this.#strike;
    this.#strike = null;
    await strike?.();
  }

  /** Spread over the conversations: the next kill comes when the last victim is up again, and a little later. */
  async strike(fleet: Fleet, { kills, random, progress }: Kills): Promise<void> {
    while (fleet.kills < kills) {
      await delay(random.between(20, 500));
      if (random.chance(0.3)) await fleet.killOne();
      else {
        const struck = Promise.withResolvers<void>();
        this.#strike = () => fleet.killOne().then(struck.resolve, struck.reject);
        // There may be no mail to wait for.
        await Promise.race([struck.promise, delay(3_000)]);
        await this.mailIsOut();
        await struck.promise;
      }
      progress(`kill ${fleet.kills} of ${kills}`);
    }
  }
}

interface Kills {
  readonly kills: number;
  readonly random: Random;
  readonly progress: (text: string) => void;
}

/** The entries of every conversation's run, once all of them are over. */
async function allEnded(
  place: Place,
  persons: readonly Person[],
  progress: (text: string) => void,
): Promise<Entry[][]> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const { runs } = await place.app.list({ limit: 1_000 });
    const over = runs.filter(({ status }) => status !== "running" && status !== "suspended");
    progress(`${over.length} of ${persons.length} conversations are over`);
    if (over.length >= persons.length) break;
    if (performance.now() > until)
      throw new Error(`K1: ${persons.length - over.length} conversations have stalled`);
    await delay(500);
  }
  return Promise.all(persons.map(({ started: [first] }) => place.app.get(first?.runId ?? "").entries()));
}

function endingOf(entries: readonly Entry[]): string {
  const end = entries.findLast(({ kind }) => kind.startsWith("run."));
  if (end?.kind !== "run.completed") return end?.kind ?? "no run";
  const output = end.output as Ending;
  return "version" in output ? `${output.status} ${output.version}` : output.status;
}

function recordedMail(entry: Entry): string[] {
  return entry.kind === "step.completed" && entry.key.startsWith("mail")
    ? [(entry.value as Sent).messageId]
    : [];
}

/** K3, in both directions. */
export function checkRecords(sent: ReadonlySet<string>, recorded: ReadonlySet<string>): void {
  const unrecorded = [...sent].find((id) => !recorded.has(id));
  if (unrecorded !== undefined) throw new Error(`K3: ${unrecorded} was sent and has no record`);
  const unsent = [...recorded].find((id) => !sent.has(id));
  if (unsent !== undefined) throw new Error(`K3: ${unsent} has a record and was never sent`);
}

function counted(texts: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const text of texts.toSorted()) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}
