/**
 * Group commit: calls that are made while others are under way share one statement, and so one round trip, one commit and
 * one wait for the disk.
 *
 * groups.1. A call settles only with the reply to the statement that contains it.
 * groups.2. Without a statement under way, a call is sent in this turn of the event loop. There is no timer.
 * groups.3. A few statements may be under way at a time, each on a connection of its own.
 * groups.4. When a statement is rolled back through the fault of one of its calls, each call is sent again on its own, and
 *     only the faulty one is rejected.
 * groups.5. When the outcome of a statement is unknown, every call in it is rejected, and nothing is sent again.
 */

import { isOwnFault } from "./errors.ts";

interface Waiting<Call, Reply> {
  readonly call: Call;
  readonly size: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupsOptions<Call, Reply> {
  /** Sends calls as one statement; gives one reply for each, in their order. */
  send(calls: readonly Call[]): Promise<readonly Reply[]>;
  /** Calls are sorted by it, so that all statements lock runs in one order. */
  locatorOf(call: Call): string;
  /** Characters that a call sends. */
  sizeOf(call: Call): number;
  /** Statements under way at a time. */
  readonly flights: number;
}

const callsPerGroup = 500;
/** A group is cut at this many characters, so that one large value does not delay all others. */
const sizeOfGroup = 4_000_000;

export class Groups<Call, Reply> {
  readonly #options: GroupsOptions<Call, Reply>;
  #queue: Waiting<Call, Reply>[] = [];
  #flights = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];
  /** Statements sent, for tests and benchmarks. */
  sent = 0;

  constructor(options: GroupsOptions<Call, Reply>) {
    this.#options = options;
  }

  add(call: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ call, size: this.#options.sizeOf(call), resolve, reject });
      this.#schedule();
    });
  }

  /** Settles when no call is waiting or under way. */
  settled(): Promise<void> {
    if (this.#flights === 0 && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0 || this.#flights >= this.#options.flights) return;
    this.#scheduled = true;
    // At the end of this turn, so that all calls of the turn are in.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#fly(this.#next());
      this.#schedule();
    });
  }

  #next(): Waiting<Call, Reply>[] {
    let count = 0;
    for (let size = 0; count < this.#queue.length && count < callsPerGroup && size < sizeOfGroup; count++)
      size += this.#queue[count]?.size ?? 0;
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    const locatorOf = (call: Call): string => this.#options.locatorOf(call);
    // A stable sort: calls for one run stay in their order.
    return group.toSorted((a, b) => compare(locatorOf(a.call), locatorOf(b.call)));
  }

  async #fly(group: readonly Waiting<Call, Reply>[]): Promise<void> {
    this.#flights += 1;
    await this.#send(group);
    this.#flights -= 1;
    if (this.#flights === 0 && this.#queue.length === 0) for (const idle of this.#idle.splice(0)) idle();
    this.#schedule();
  }

  async #send(group: readonly Waiting<Call, Reply>[]): Promise<void> {
    try {
      this.sent += 1;
      const replies = await this.#options.send(group.map(({ call }) => call));
      for (const [n, { resolve }] of group.entries()) resolve(replies[n] as Reply);
    } catch (error) {
      if (group.length > 1 && isOwnFault(error)) for (const one of group) await this.#send([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
