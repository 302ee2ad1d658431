/** A person who wants something deployed, and answers every mail about it: at once, late, twice, or before it is sent. */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "@durable/testing";
import type { Email as Parsed } from "postal-mime";
import type { Fleet, Reply } from "./fleet.ts";
import { forged } from "./fuzz.ts";

/** The request of a person, their replies to one question after the other, and the expected end. */
interface Script {
  readonly version: string;
  readonly replies: readonly string[];
  readonly ending: string;
}

const scripts: readonly Script[] = [
  { version: "1.1.0", replies: ["approve"], ending: "deployed 1.1.0" },
  { version: "1.1.0", replies: ["reject"], ending: "rejected" },
  { version: "2.0.0", replies: ["Take 1.0.0 instead", "approve"], ending: "deployed 1.0.0" },
  { version: "2.0.0", replies: ["approve"], ending: "rolled-back 2.0.0" },
  { version: "1.0.0", replies: ["Why not 1.1.0?", "Are you sure?", "approve"], ending: "deployed 1.1.0" },
];

export class Person {
  readonly ending: string;
  /** How many questions there are to be, and so how many tokens. */
  readonly rounds: number;
  /** Tokens seen, in order, with the statuses of the replies to them. */
  readonly tokens = new Map<string, string[]>();
  readonly started: Reply[] = [];
  readonly forgedStatuses: string[] = [];
  readonly #at: number;
  readonly #script: Script;
  readonly #random: Random;
  readonly #fleet: Fleet;
  #letters = 0;

  constructor(at: number, random: Random, fleet: Fleet) {
    this.#at = at;
    this.#random = random;
    this.#fleet = fleet;
    this.#script = scripts[at % scripts.length] as Script;
    this.ending = this.#script.ending;
    this.rounds = this.#script.replies.length;
  }

  /** Writes the request; now and then its provider delivers it twice. */
  async begin(): Promise<void> {
    const request = this.#letter(
      `Please put ${this.#script.version} on preview-${this.#at}.`,
      "deploy@localhost",
    );
    const times = this.#random.chance(0.2) ? 2 : 1;
    await Promise.all(
      Array.from({ length: times }, async () => this.started.push(await this.#fleet.post(request))),
    );
  }

  /** Reads a mail. While this is waited for, the mail is not yet taken: an early reply is earlier than its record. */
  async read({ text = "", replyTo }: Parsed): Promise<void> {
    const address = replyTo?.[0]?.address ?? "";
    const [, token = ""] = /\+([a-z2-7]+)@/.exec(address) ?? [];
    if (!text.includes("Reply to this mail")) return;
    const statuses = this.tokens.get(token) ?? [];
    this.tokens.set(token, statuses);
    const body = this.#script.replies[[...this.tokens.keys()].indexOf(token)] ?? "approve";
    const reply = async (): Promise<void> => {
      const letter = this.#letter(body, address);
      if (this.#random.chance(0.3)) {
        const to = `deploy+${forged(this.#random, [token])}@localhost`;
        this.forgedStatuses.push((await this.#fleet.post(this.#letter("approve", to))).status);
      }
      const times = this.#random.chance(0.3) ? 2 : 1;
      await Promise.all(
        Array.from({ length: times }, async () => statuses.push((await this.#fleet.post(letter)).status)),
      );
    };
    if (this.#random.chance(0.3)) return reply();
    this.#later(delay(this.#random.between(0, 500)).then(reply));
  }

  /** What is not as it should be; `null` when all is well. */
  complaint(ending: string | undefined): string | null {
    const who = `p${this.#at}`;
    if (ending !== this.ending) return `K1: ${who} ended as ${ending}, not ${this.ending}`;
    if (this.tokens.size !== this.rounds)
      return `K2: ${who} saw ${this.tokens.size} tokens in ${this.rounds} rounds`;
    if (this.started.filter(({ status }) => status === "started").length > 1)
      return `K4: ${who} was started twice`;
    for (const statuses of this.tokens.values()) {
      if (statuses.filter((status) => status === "resumed").length > 1)
        return `K4: ${who} was resumed twice by one token`;
      const other = statuses.find((status) => status !== "resumed" && status !== "duplicate");
      if (other !== undefined) return `K4: a reply of ${who} got ${other}`;
    }
    const taken = this.forgedStatuses.find((status) => status !== "ignored");
    return taken === undefined ? null : `K4: a forged reply of ${who} got ${taken}`;
  }

  /** Settles when everything was posted that is going to be. */
  async done(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  readonly #pending = new Set<Promise<void>>();

  #later(work: Promise<void>): void {
    // Kept until `done`: a failure is thrown there.
    work.catch(() => {});
    this.#pending.add(work);
    void work.then(
      () => this.#pending.delete(work),
      () => {},
    );
  }

  #letter(body: string, to: string): Readonly<Record<string, unknown>> {
    const messageId = `<p${this.#at}.${(this.#letters += 1)}@example.com>`;
    return { from: `p${this.#at}@example.com`, to, subject: "Tide board", body, messageId };
  }
}
