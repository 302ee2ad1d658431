/**
 * A storage that loses its last batches while runs are driven, as after a failover to a replica that was behind, and what must
 * hold then. The bodies of steps write a ledger of their own, which loses nothing.
 *
 * lost-batches.1. A driver that lives records each loss once, with the right lengths, before anything else.
 * lost-batches.2. What a driver that died knew is unknown: nothing is recorded.
 * lost-batches.3. A step with an effect whose start was acknowledged does not run twice without a question while a driver knows.
 * lost-batches.4. The run ends, each key settles once, and its values are those of bodies or answers.
 */

import { createApp, durable, MemoryStorage, type App, type Outcome, type Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { seeded, type Random } from "@durable/testing";

/** Keeps what was appended, so that it can go back. Its leases are lost with the batches. */
class LosingStorage {
  readonly #appended = new Map<string, AppendRequest[]>();
  #now = new MemoryStorage();

  /** A handle that never replies once its process is dead. */
  handle(isDead: () => boolean): Storage {
    return new Proxy({} as Storage, {
      get: (_, name: keyof Storage) => {
        const member: unknown = this.#now[name as keyof MemoryStorage];
        if (typeof member !== "function") return member;
        return async (...args: unknown[]): Promise<unknown> => {
          if (isDead()) return new Promise(() => {});
          const now = this.#now;
          const reply: unknown = await (
            now[name as keyof MemoryStorage] as (...all: unknown[]) => unknown
          ).apply(now, args);
          if (name === "append") this.#keep(args[0] as AppendRequest);
          return isDead() ? new Promise(() => {}) : reply;
        };
      },
    });
  }

  #keep(request: AppendRequest): void {
    const { locator } = request;
    this.#appended.set(locator, [...(this.#appended.get(locator) ?? []), request]);
  }

  /** How many batches the only run has. */
  get length(): number {
    return [...this.#appended.values()][0]?.length ?? 0;
  }

  async goBackTo(length: number): Promise<void> {
    const before = new MemoryStorage();
    for (const [locator, requests] of this.#appended) {
      const kept = requests.slice(0, length);
      this.#appended.set(locator, kept);
      for (const { lease: _, ...request } of kept) await before.append(request);
    }
    this.#now = before;
  }
}

interface Loss {
  readonly from: number;
  readonly to: number;
}

interface Story {
  readonly effects: readonly boolean[];
  /** At which bodies batches are lost, counted over all, and whether the driver dies then. */
  readonly losses: ReadonlyMap<number, boolean>;
}

function storyOf(random: Random): Story {
  const effects = Array.from({ length: random.between(2, 8) }, () => random.chance(0.5));
  const dies = random.chance(0.3);
  const count = random.chance(0.3) ? 2 : 1;
  const at = Array.from({ length: count }, () => random.between(1, effects.length));
  return { effects, losses: new Map(at.map((body) => [body, dies])) };
}

/** Plays a story, and returns what was wrong. */
export async function loseBatches(seed: number): Promise<string[]> {
  const random = seeded(seed);
  const story = storyOf(random);
  const storage = new LosingStorage();
  const ran = new Map<string, string[]>();
  const losses: Loss[] = [];
  const [wrong, secret]: [string[], string] = [[], "a secret for the losses of a storage"];
  let [bodies, deaths] = [0, 0];
  let died: () => void = () => {};
  const appOf = (generation: number): App => {
    const isDead = (): boolean => deaths > generation;
    const flow = durable("lossy", async (ctx) => {
      const values: string[] = [];
      for (const [n, isEffect] of story.effects.entries()) {
        const key = `step ${n}`;
        const work = async (): Promise<string> => {
          const value = `${key} ${++bodies}`;
          ran.set(key, [...(ran.get(key) ?? []), value]);
          const dies = story.losses.get(bodies);
          const from = storage.length;
          if (dies !== undefined && from > 1) {
            const to = random.between(1, from - 1);
            await storage.goBackTo(to);
            if (!dies) losses.push({ from, to });
            else {
              deaths += 1;
              died();
              await new Promise(() => {});
            }
          }
          return value;
        };
        values.push(await ctx.step(key, work, isEffect ? { onUncertain: "suspend" } : {}));
      }
      return values;
    });
    const given = { storage: storage.handle(isDead), secret, logger: { ...console, warn: () => {} } };
    return createApp({ ...given, workflows: [flow], bind: false, patience: 0 });
  };
  let app = appOf(0);
  let outcome: Outcome<unknown> | null = null;
  for (let tries = 0; tries < 40 && outcome?.status !== "completed"; tries++) {
    const death = new Promise<null>((resolve) => (died = () => resolve(null)));
    outcome = await Promise.race([
      tries === 0 ? app.run("lossy", undefined, { id: "r" }) : app.advance("r"),
      death,
    ]);
    if (outcome === null) app = appOf(deaths);
    else if (outcome.status === "suspended")
      for (const { token } of outcome.waiting)
        await app.resume(token, { status: "completed", value: "by hand" }, { drive: false });
  }
  if (outcome?.status !== "completed") return [`seed ${seed}: it is ${outcome?.status}, not completed`];
  const entries = await app.get("r").entries();
  const found = entries.flatMap((entry) =>
    entry.kind === "run.regressed" ? [{ from: entry.from, to: entry.to }] : [],
  );
  // A later loss may take the record of an earlier one with it.
  const [last] = losses.slice(-1);
  if (last !== undefined && JSON.stringify(found.at(-1)) !== JSON.stringify(last))
    wrong.push(`lost-batches.1: ${JSON.stringify(last)} was recorded as ${JSON.stringify(found)}`);
  if (found.length > losses.length)
    wrong.push(`lost-batches.2: ${losses.length} losses, ${found.length} recorded`);
  const settled = entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry] : []));
  if (
    new Set(settled.map(({ key }) => key)).size !== settled.length ||
    settled.length !== story.effects.length
  )
    wrong.push(`lost-batches.4: settled ${settled.map(({ key }) => key).join(", ")}`);
  for (const { key, value } of settled) {
    const bodiesOf = ran.get(key) ?? [];
    const isEffect = story.effects[Number(key.slice(5))] === true;
    if (deaths === 0 && isEffect && bodiesOf.length > 1)
      wrong.push(`lost-batches.3: the body of ${key} ran ${bodiesOf.length} times`);
    if (value !== "by hand" && bodiesOf.at(-1) !== value)
      wrong.push(`lost-batches.4: ${key} has ${String(value)}, and its bodies gave ${bodiesOf.join(", ")}`);
  }
  return wrong.map((what) => `seed ${seed}: ${what}`);
}
