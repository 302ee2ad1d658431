/**
 * Group commit: calls that are made while others are under way share one statement, and so one round trip, one commit and
 * one wait for the disk.
 *
 * groups.1. A call settles only with the reply to the statement that contains it.
 * groups.2. Without a statement under way, a call is sent at the end of this turn of the event loop, or of this tick while a
 *     single run makes calls. There is no timer.
 * groups.3. A few statements may be under way at a time, each on a connection of its own. A large group is cut into as many,
 *     so that the database works on one part while this process works on the replies to the other.
 * groups.4. When a statement is rolled back through the fault of one of its calls, each call is sent again on its own, and
 *     only the faulty one is rejected.
 * groups.5. When the outcome of a statement is unknown, every call in it is rejected, and nothing is sent again.
 * groups.6. A run has at most one call under way, so that its calls are done in the order in which they were made.
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
/** A group up to this size is not cut. */
const smallGroup = 16;
/** A group is cut at this many characters, so that one large value does not delay all others. */
const sizeOfGroup = 4_000_000;

export class Groups<Call, Reply> {
  readonly #options: GroupsOptions<Call, Reply>;
  #queue: Waiting<Call, Reply>[] = [];
  #flights = 0;
  /** Runs that have a call in a statement under way. */
  readonly #underWay = new Set<string>();
  #scheduled = false;
  /** The run of the last statement, if it was for this run alone. */
  #alone: string | null = null;
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

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0 || this.#flights >= this.#options.flights) return;
    const [first] = this.#queue;
    const isAlone = first !== undefined && this.#options.locatorOf(first.call) === this.#alone;
    this.#scheduled = true;
    // At the end of this turn, so that all calls of the turn are in. While a single run makes calls, no others come.
    const send = (): void => this.#sendNext();
    if (isAlone) process.nextTick(send);
    else setImmediate(send);
  }

  #sendNext(): void {
    this.#scheduled = false;
    const group = this.#next();
    // Calls that wait for an earlier one of their run go when its statement has ended.
    if (group.length === 0) return;
    void this.#fly(group);
    this.#schedule();
  }

  /** The calls of the next statement, in the order in which runs are locked. */
  #next(): Waiting<Call, Reply>[] {
    const group: Waiting<Call, Reply>[] = [];
    const rest: Waiting<Call, Reply>[] = [];
    let size = 0;
    const share = Math.ceil((this.#queue.length + this.#underWay.size) / this.#options.flights);
    const most = Math.min(callsPerGroup, Math.max(smallGroup, share));
    for (const one of this.#queue) {
      const locator = this.#options.locatorOf(one.call);
      const isFull = group.length >= most || size >= sizeOfGroup;
      if (isFull || this.#underWay.has(locator)) rest.push(one);
      else {
        this.#underWay.add(locator);
        size += one.size;
        group.push(one);
      }
    }
    this.#queue = rest;
    const locatorOf = ({ call }: Waiting<Call, Reply>): string => this.#options.locatorOf(call);
    const [first] = group;
    this.#alone = first !== undefined && group.length === 1 ? locatorOf(first) : null;
    return group.toSorted((a, b) => compare(locatorOf(a), locatorOf(b)));
  }

  async #fly(group: readonly Waiting<Call, Reply>[]): Promise<void> {
    this.#flights += 1;
    await this.#send(group);
    this.#flights -= 1;
    for (const { call } of group) this.#underWay.delete(this.#options.locatorOf(call));
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
