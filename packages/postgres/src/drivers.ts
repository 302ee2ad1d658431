/**
 * Drivers on this host that have died. Their runs are due at once, and not only when their leases end.
 *
 * drivers.1. A due list asks for the drivers of this host at most once in a while, so that it costs one round trip. A dead
 *     driver is found a little later then, and long before its lease ends.
 */

import { isDead, thisProcess } from "@durable/core/storage";
import type { Database } from "./database.ts";
import { driversText, orphansText } from "./sql/due.ts";

const lookEveryMs = 1_000;
/** Processes that are kept of those that said so themselves, until the database is asked. */
const mostSeen = 100;

/** Names of processes on this host begin with this; the two last parts are the process id and its start. */
const host = `${thisProcess.split("|").slice(0, -2).join("|")}|`;
/** The first text after all that begin with it: "}" follows "|". */
const afterHost = `${host.slice(0, -1)}}`;

export class Drivers {
  readonly #database: Database;
  #dead: readonly string[] = [];
  /** Processes of this host that had a lease when they were looked up, and were alive. */
  #alive: readonly string[] = [];
  #looked = -Infinity;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The processes that are known to be dead, for a claim. It waits for a query only when a driver has died, or when none was sent
   * yet. A worker that waits for runs asks in any case.
   */
  async forClaim(): Promise<readonly string[]> {
    const mustWait = this.#looked === -Infinity;
    const look = this.#look();
    if (mustWait) await look;
    // A failure is that of the claim, too.
    else look.catch(() => {});
    return this.#dead;
  }

  /** Asks for due runs, with the processes that are known to be dead; for anything else, without them. */
  async withDead<T>(due: boolean, ask: (dead: readonly string[]) => Promise<T>): Promise<T> {
    if (due) await this.#look();
    return ask(due ? this.#dead : []);
  }

  /** True when a dead driver of this host has left a due run of one of these workflows. */
  async leftOrphans(workflows: readonly string[], now: number | null): Promise<boolean> {
    await this.#look();
    if (this.#dead.length === 0) return false;
    const [row] = await this.#database.rows<{ found: boolean }>(orphansText(this.#database.settings.quoted), [
      this.#dead,
      workflows,
      now,
    ]);
    return row?.found === true;
  }

  /** A process has taken runs. */
  saw(process: string): void {
    if (process.startsWith(host) && process !== thisProcess && !this.#alive.includes(process))
      this.#alive = [...this.#alive.slice(-mostSeen), process];
  }

  /** True when a driver that was alive is dead now. It asks this host only, and not the database. */
  haveDied(): boolean {
    if (!this.#alive.some(isDead)) return false;
    this.#looked = -Infinity;
    return true;
  }

  async #look(): Promise<void> {
    if (performance.now() - this.#looked < lookEveryMs) return;
    this.#looked = performance.now();
    const rows = await this.#database.rows<{ value: string }>(driversText(this.#database.settings.quoted), [
      host,
      afterHost,
    ]);
    const found = Map.groupBy(
      rows.map(({ value }) => value).filter((process) => process !== thisProcess),
      (process) => isDead(process),
    );
    this.#dead = found.get(true) ?? [];
    this.#alive = found.get(false) ?? [];
  }
}
