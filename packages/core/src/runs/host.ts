/** What drives runs: storage, secret, world and settings. Storage and secret are resolved once, at first use. */

import { defaultStorage, hasDefault, keepsPrompts, warmRuns } from "#default-storage";
import type { Cipher } from "../ports/cipher.ts";
import { concurrencyOf, type Definition, type Find, type QuotaOptions } from "../engine/definition.ts";
import { DriverLease } from "../engine/lease.ts";
import { toMs, type Duration } from "../values/duration.ts";
import { DurableError, describeError } from "../values/errors.ts";
import { KnownAncestors } from "../journal/ancestors.ts";
import type { JournalOptions, RunJournal } from "../journal/journal.ts";
import type { SlotLimits, Storage, WorkflowPause } from "../ports/storage.ts";
import { keyring, type Keyring, type Secret } from "../journal/tokens.ts";
import { isWeak, keyRecipe } from "../values/secret.ts";
import { Turns } from "../values/turns.ts";
import { LostBatches } from "./lost-batches.ts";
import { ParkedRuns, type Parked, RecentJournals } from "./parked.ts";
import { pause, systemWorld, withLogger, type Logger, type World } from "../ports/world.ts";
import type { HooksOption } from "../engine/hooks.ts";
import { observing, type Observe } from "./observer.ts";
import type { EvalFork } from "../engine/evals.ts";
import type { Shows } from "../engine/stop.ts";
import { UnderWay, type Keeping } from "./under-way.ts";
import { checkLimits } from "./window.ts";
import { assertOptions } from "../values/options.ts";
import { assertPrices, type Prices } from "../values/usage.ts";
import { leave, ownerNow, runAs } from "../ports/async-context.ts";
import { decode } from "../values/codec/decode.ts";

/** Reports errors that nothing caught to the runs that caused them, where the platform has such errors. */
export { guard } from "#default-storage";

/** Options of apps. Given to `durable()` or `with()`, they make an app of the workflow's own. */
export interface HostOptions {
  /** Where journals are kept. On Node, Bun and Deno a SQLite file at `.durable/journal.db` by default. */
  readonly storage?: Storage | undefined;
  /**
   * Signs resume tokens. SQLite creates one beside its file by default; other storages need one. The secret
   * that signs has at least 16 characters.
   */
  readonly secret?: Secret | undefined;
  /** Encrypts what runs record: `aesGcm({ current, keys })` of @durable/core/encryption. Off by default. */
  readonly encryption?: Cipher | undefined;
  /** Waits shorter than this are held in memory; longer ones park the run. 60 s by default. */
  readonly patience?: Duration | undefined;
  /**
   * How long work may go on after its workflow has returned. Then its signal aborts, the end is recorded, and
   * the outcome names it as `abandoned`. 5 s by default.
   */
  readonly linger?: Duration | undefined;
  /** How long a silent driver on another host counts as alive. 30 s by default. */
  readonly lease?: Duration | undefined;
  /** Keeps an edge request alive for work in the background. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /**
   * How many parked runs stay in memory, so that an answer to them needs no replay. 100 by default on Node,
   * Bun and Deno; 0 on the edge, where no promise outlives its request, and with a `world` of your own.
   */
  readonly warm?: number | undefined;
  /**
   * What the services that steps call may take, by name: `ctx.step(name, work, { quota: "openai" })`. Quotas hold across
   * all processes on the storage.
   */
  readonly quotas?: Readonly<Record<string, QuotaOptions>> | undefined;
  /** What models cost: what steps meter is recorded with its cost. A change holds for what is used from then on. */
  readonly prices?: Prices | undefined;
  /** What is recorded beside outcomes. */
  readonly record?: RecordedMore | undefined;
  /**
   * Functions that learn what runs do: `onRun`, `onStep`, `onAttempt`, `onWait`, `onEnd`, `onBudget`,
   * `onBlocked`. They cannot affect a run.
   */
  readonly hooks?: HooksOption | undefined;
  /** Where warnings and lines of `ctx.log` go; `console` by default. */
  readonly logger?: Logger | undefined;
  /** Clock, random source and timers: for tests and simulation. */
  readonly world?: World | undefined;
}

/** What an app records beside outcomes. */
export interface RecordedMore {
  /**
   * Keeps what is asked of models, for people: messages, settings and names of tools. It is stored like any value. Off by default; on
   * Node, Bun and Deno `DURABLE_PROMPTS=1` turns it on where this is not given.
   */
  readonly prompts?: boolean | undefined;
}

/** The names of these options. */
export const hostOptions =
  "storage secret encryption patience linger lease waitUntil warm quotas prices record hooks logger world";

/** A misspelt hook would never be called. */
export function assertHooks(hooks: HooksOption = []): void {
  for (const one of [hooks].flat())
    assertOptions(one, "onRun onStep onAttempt onWait onEnd onBudget onBlocked", "hooks");
}

/** Which workflows are not driven; see pauses.ts. */
interface PausedWorkflows {
  of(workflow: string): Promise<WorkflowPause | null>;
}

/** Where other parts find the host of an app. A symbol, so that a copy of the app, member by member, keeps it. */
export const appStorage = Symbol();

/** Binds workflows to apps, unless the platform has no default storage: there each request may make an app of its own. */
export const bindsByDefault = hasDefault;

/** How often a storage without `changed` is polled. */
const pollMs = 1_000;

/** How often a hand-over checks, and for how many checks a drive may take from its lease to its begin. */
const [turnMs, quietTurns] = [10, 50];

export class Host {
  readonly world: World;
  readonly patienceMs: number;
  readonly lingerMs: number;
  readonly leaseMs: number;
  readonly options: HostOptions;
  #storage: Promise<Storage> | null = null;
  #keyring: Promise<Keyring | DurableError> | null = null;

  /** From a workflow's name to its code. */
  readonly find: Find;
  /** How many runs of each limited workflow may be driven at the same time, per slot. */
  readonly slots: SlotLimits | undefined;
  /** Runs whose last batches the storage has lost. */
  readonly lost: LostBatches;
  readonly parked: ParkedRuns;
  readonly recent: RecentJournals;
  readonly #known: KnownAncestors | undefined;
  readonly #turns = new Map<string, Turns>();
  /** Work that no caller awaits, and what it is. */
  readonly #background = new Map<Promise<void>, string>();
  /** Runs that this process drives now, by id. */
  readonly driving = new Map<string, Parked>();
  /** The forks of evals that this process drives, by id. */
  readonly evals = new Map<string, EvalFork>();
  /** What is under way in this process, for people; `null` with a `world` of one's own, whose time is not theirs. */
  readonly underWay: UnderWay | null;
  /** The workflows that are paused; only apps know of them. */
  pauses: PausedWorkflows | null = null;

  constructor(options: HostOptions, find: Find, definitions: Iterable<Definition> = []) {
    this.options = options;
    this.find = find;
    for (const definition of definitions) this.slots = this.#slotsOf(definition);
    if (options.quotas !== undefined) checkLimits(options);
    assertPrices(options.prices);
    assertOptions(options.record, "prompts", "record");
    const warm = options.warm ?? (options.world === undefined ? warmRuns : 0);
    this.lost = new LostBatches(this);
    const lost = (journal: RunJournal, error: unknown): void => void this.lost.note(journal, error);
    this.parked = new ParkedRuns(warm, lost);
    this.recent = new RecentJournals(warm, lost);
    this.#known = warm === 0 ? undefined : new KnownAncestors();
    const { hooks, logger, world = systemWorld } = options;
    this.world = logger === undefined ? world : withLogger(world, logger);
    this.underWay = options.world === undefined ? new UnderWay(this.world, () => this.keeping()) : null;
    assertHooks(hooks);
    this.patienceMs = toMs(options.patience ?? 60_000, "patience");
    this.lingerMs = toMs(options.linger ?? 5_000, "linger");
    this.leaseMs = toMs(options.lease ?? 30_000, "lease");
    // An invalid secret fails when the program starts, not when the first run suspends.
    if (options.secret !== undefined) this.#keyring = Promise.resolve(ringOf(options.secret));
  }

  /** One piece of work on a run at a time, so that many in this process do not contend for the next position. */
  async inTurn<T>(locator: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(locator) ?? new Turns();
    this.#turns.set(locator, turns);
    const result = turns.take(work);
    void turns.settled().then(() => turns.idle && this.#turns.delete(locator));
    return result;
  }

  /** The options for opening a journal. */
  async journals(): Promise<JournalOptions> {
    return {
      storage: await this.storage(),
      world: this.world,
      cipher: this.options.encryption ?? null,
      prices: this.options.prices,
      prompts: this.options.record?.prompts ?? keepsPrompts(),
      known: this.#known,
    };
  }

  /** True when the runs of a workflow are not driven; only apps know of that. */
  async isPaused(workflow: string): Promise<boolean> {
    return ((await this.pauses?.of(workflow)) ?? null) !== null;
  }

  /** Where texts for people are kept. */
  async keeping(): Promise<Keeping> {
    const { limits } = await this.storage();
    return { limits, cipher: this.options.encryption ?? null };
  }

  /** Shows what a run does. */
  shows(runId: string): Shows | undefined {
    const { underWay } = this;
    if (underWay === null) return undefined;
    return (kind, { key, attempt, startedAt }, said) =>
      underWay.begin({ runId, kind, key, attempt, since: startedAt }, said);
  }

  /** What calls the hooks of a drive; `undefined` when there are none. */
  async observing(more: HooksOption = []): Promise<Observe | undefined> {
    const { world, driving } = this;
    const hooks = [this.options.hooks ?? [], more].flat();
    if (hooks.length > 0)
      try {
        return observing({ world, driving, decode, runAs, ownerNow, leave }, hooks);
      } catch (error) {
        world.warn(`no hook is called: ${describeError(error)}`);
      }
    return undefined;
  }

  /** A lease that is not taken yet, of a run of any workflow, or of one that only its parent's code knows. */
  async newLease(definition?: Definition): Promise<DriverLease> {
    const slots = definition === undefined ? this.slots : this.#slotsOf(definition);
    return new DriverLease({ ...(await this.journals()), ttlMs: this.leaseMs, slots });
  }

  #slotsOf({ name, flow, budget }: Definition): SlotLimits | undefined {
    const concurrency = concurrencyOf(flow ?? {});
    // A storage without limits fails when the program starts.
    if (flow !== undefined || budget?.tree === true) checkLimits(this.options);
    return concurrency === undefined ? this.slots : { ...this.slots, [name]: concurrency.max };
  }

  /** The quotas that were declared, by name. */
  get quotas(): NonNullable<HostOptions["quotas"]> {
    return this.options.quotas ?? {};
  }

  /** Forgets runs and journals that are kept in memory, now and from now on. */
  close(): void {
    this.parked.close();
    this.recent.close();
  }

  storage(): Promise<Storage> {
    const { storage } = this.options;
    this.#storage ??= storage === undefined ? defaultStorage() : Promise.resolve(storage);
    return this.#storage;
  }

  /** The keyring, or the error that asks for a secret. It is not thrown here, because runs that never suspend need none. */
  keyring(): Promise<Keyring | DurableError> {
    this.#keyring ??= this.storage().then(async (storage) =>
      storage.secret === undefined ? noSecret() : ringOf(await storage.secret()),
    );
    return this.#keyring;
  }

  /** Resolves when the journal has grown, at a given time, or on abort. */
  async changed(
    { locator, position }: { readonly locator: string; readonly position: number },
    until: number | null,
    signal?: AbortSignal,
  ): Promise<void> {
    const { world } = this;
    const storage = await this.storage();
    const late = until === null ? null : Math.max(0, until - world.now());
    if (storage.changed === undefined) return pause(world, Math.min(late ?? pollMs, pollMs), signal);
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    const cancel = late === null ? () => {} : world.timer(late, stop);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await storage.changed(locator, position, abort.signal);
    } finally {
      cancel();
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Work that no caller awaits: a failure is printed as a warning. */
  background(what: string, work: Promise<unknown>): void {
    const reported = work
      .catch((error: unknown) => this.world.warn(`${what} stopped: ${describeError(error)}`))
      .then(() => void this.#background.delete(reported));
    this.#background.set(reported, what);
    this.options.waitUntil?.(reported);
  }

  /** Resolves when no work goes on in the background, or none on this run. */
  async settled(runId?: string): Promise<void> {
    const isOf = ([, what]: readonly [unknown, string]): boolean =>
      runId === undefined || what === `run ${runId}`;
    // The end of one piece of work may begin another, such as the drive of a parent.
    for (;;) {
      const work = [...this.#background].filter(isOf);
      if (work.length === 0) return;
      await Promise.all(work.map(([done]) => done));
    }
  }

  /** Hands all runs over that this process drives. A run that only waits to be admitted has begun nothing, and is left. */
  async handOver(withinMs = Infinity): Promise<void> {
    const until = this.world.now() + withinMs;
    for (let quiet = 0; quiet < quietTurns; quiet = this.driving.size > 0 ? 0 : quiet + 1) {
      for (const run of this.driving.values()) run.leave();
      if (this.driving.size === 0 && this.#background.size === 0) return;
      if (this.world.now() >= until) break;
      await pause(this.world, turnMs);
    }
    if (this.driving.size > 0)
      this.world.warn(
        `the app was closed with steps under way; they will run again elsewhere: ${[...this.driving.keys()].join(", ")}`,
      );
  }
}

/** The host of an app. */
export function hostOf(app: object): Host {
  const host = (app as { readonly [appStorage]?: Host })[appStorage];
  if (host !== undefined) return host;
  throw new DurableError(
    "invalid-options",
    "This app was not made by this copy of @durable/core. Install the package once: `npm ls @durable/core` lists its copies.",
  );
}

/** A secret that signs must be hard to guess; one that only verifies may be older than this rule. */
function ringOf(secret: Secret): Keyring {
  const ring = keyring(secret);
  if (isWeak(typeof secret === "string" ? secret : (secret.keys[secret.current] as string)))
    throw new DurableError("invalid-options", `\`secret\` is too short or too regular. ${keyRecipe}`);
  return ring;
}

function noSecret(): DurableError {
  return new DurableError(
    "no-secret",
    "Resume tokens need a secret, and this storage does not have one. Pass { secret } to createApp().",
  );
}
