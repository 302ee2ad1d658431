/**
 * One connection for the events of all tabs of this browser. The tab that has the lock reads, and tells the others what it
 * hears. A browser opens few connections to one server: with one for each tab, the seventh would wait for ever.
 *
 * tabs.1. A hidden tab wants nothing, and gives the lock to one that is seen. Where none is seen there is no connection.
 * tabs.2. Each new connection says once more that there is something new, so that nothing is missed in between.
 */

import { mostWatched } from "../../src/api.ts";
import { readEvents } from "./events.ts";

/** Called with the data of an event, by its name; "open" and "error" are about the connection itself. */
export type Handlers = Readonly<Record<string, (data: unknown) => void>>;

/** What tabs tell each other. */
type Told =
  | { readonly type: "who" }
  | { readonly type: "want"; readonly tab: string; readonly topics: readonly string[] }
  | { readonly type: "event"; readonly name: string; readonly data: unknown };

/** Opens a connection about some topics. */
type Open = (topics: readonly string[], signal: AbortSignal) => Promise<Response>;

/** A connection that this tab reads. */
interface Source {
  readonly about: string;
  readonly abort: AbortController;
  isOpen: boolean;
}

/** So that the wants of several tabs make one connection. */
const gatherMs = 50;

/** Topics are ids of runs; the empty one is the list. */
export class Tabs {
  readonly #name: string;
  readonly #open: Open;
  readonly #channel: BroadcastChannel;
  readonly #tab = crypto.randomUUID();
  readonly #own = new Map<Handlers, string>();
  /** What each tab wants to hear of. */
  readonly #wants = new Map<string, readonly string[]>();
  /** Waits for the lock, or has it. */
  #turn: AbortController | null = null;
  #leads = false;
  #source: Source | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, open: Open) {
    this.#name = name;
    this.#open = open;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener("message", ({ data }: MessageEvent<Told>) => this.#hear(data));
    document.addEventListener("visibilitychange", () => this.#want());
    // A page that is left says so; one that dies is forgotten with the next connection.
    window.addEventListener("pagehide", () => this.#leave());
    window.addEventListener("pageshow", () => this.#want());
  }

  listen(topic: string, handlers: Handlers): () => void {
    this.#own.set(handlers, topic);
    this.#want();
    return () => {
      this.#own.delete(handlers);
      this.#want();
    };
  }

  #want(topics = document.hidden ? [] : [...new Set(this.#own.values())]): void {
    this.#wants.set(this.#tab, topics);
    this.#tell({ type: "want", tab: this.#tab, topics });
    if (topics.length > 0) this.#lead();
    else this.#leave();
    this.#plan();
  }

  #tell(told: Told): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origins
    this.#channel.postMessage(told);
  }

  #hear(told: Told): void {
    if (told.type === "event") return this.#act(told.name, told.data);
    if (told.type === "who") {
      this.#tell({ type: "want", tab: this.#tab, topics: this.#wants.get(this.#tab) ?? [] });
      return;
    }
    this.#wants.set(told.tab, told.topics);
    // One that wants what is read already hears that it is.
    if (this.#source?.isOpen === true) this.#tell({ type: "event", name: "open", data: null });
    this.#plan();
  }

  #act(name: string, data: unknown): void {
    const about = name === "run" ? (data as { readonly runId: string }).runId : name === "runs" ? "" : null;
    for (const [handlers, topic] of this.#own) if (about === null || about === topic) handlers[name]?.(data);
  }

  #lead(): void {
    if (this.#turn !== null) return;
    const turn = (this.#turn = new AbortController());
    const { signal } = turn;
    const lead = (): Promise<void> => {
      this.#leads = true;
      this.#wants.clear();
      this.#want();
      this.#tell({ type: "who" });
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    };
    // It rejects when the tab no longer waits for it.
    navigator.locks.request(this.#name, { signal }, lead).catch(() => {});
  }

  #leave(): void {
    this.#leads = false;
    this.#turn?.abort();
    this.#turn = null;
    this.#close();
    this.#tell({ type: "want", tab: this.#tab, topics: [] });
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.abort.abort();
    this.#source = null;
  }

  #plan(): void {
    if (this.#leads) this.#timer ??= setTimeout(() => this.#read(), gatherMs);
  }

  /** Reads of what the tabs want now. */
  #read(): void {
    this.#timer = undefined;
    const topics = [...new Set([...this.#wants.values()].flat())].toSorted().slice(0, mostWatched);
    const about = JSON.stringify(topics);
    if (this.#source?.about === about) return;
    this.#close();
    if (topics.length === 0) return;
    const source: Source = { about, abort: new AbortController(), isOpen: false };
    this.#source = source;
    const { signal } = source.abort;
    const act = (name: string, data: unknown): void => {
      if (name === "open" || name === "error") source.isOpen = name === "open";
      this.#tell({ type: "event", name, data });
      this.#act(name, data);
    };
    void readEvents(() => this.#open(topics, signal), { signal, act });
  }
}
