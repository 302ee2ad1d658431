/**
 * One open playground: the workspace, the worker that lives at the moment, and what it reports. Each button starts a new worker,
 * as a new process would start on a server, so everything that it knows it has from the journal.
 */
import { reactive } from "vue";
import type { Objects, Order, OutsideCall, Report, RunPicture } from "./protocol.ts";
import { bucketOf, type Kept } from "./workspace.ts";
import EngineWorker from "./worker.ts?worker&inline";

/** What the page shows beside the workspace. It is gone after a reload, as the worker is. */
export interface Live {
  /** How many workers there were since the page was opened. */
  lives: number;
  driven: string | null;
  isBusy: boolean;
  /** Attempts under way, by key. */
  attempts: string[];
  /** Calls that are not answered yet. */
  open: OutsideCall[];
  /** Keys whose outcomes came from the journal in the present life. */
  replayed: string[];
  runs: Record<string, RunPicture>;
  message: string | null;
  /** The last life ended by a crash, in these steps. */
  crashed: string[] | null;
}

export class Session {
  readonly workspace: string;
  readonly kept: Kept;
  readonly live: Live = reactive({
    lives: 0,
    driven: null,
    isBusy: false,
    attempts: [],
    open: [],
    replayed: [],
    runs: {},
    message: null,
    crashed: null,
  });
  #worker: Worker | null = null;
  #objects: ((objects: Objects) => void) | null = null;
  #idle: (() => void)[] = [];
  /** Keys of results that came from the journal, while their price is not known. */
  #unpriced: string[] = [];
  /** The run that was shown when the latest one was begun. */
  #before: string | null | undefined = undefined;

  constructor(workspace: string, kept: Kept) {
    this.workspace = workspace;
    this.kept = kept;
  }

  /** Reads the journals of the workspace. No code of the program runs. */
  look(): Promise<void> {
    this.#start(null);
    this.#send({ do: "look", runs: [...this.kept.runs] });
    return this.#untilIdle();
  }

  run(): void {
    const id = this.#newId();
    this.#select(id);
    this.#command({ do: "run", id });
  }

  continue(id: string): void {
    this.#command({ do: "continue", id });
  }

  answer(id: string, key: string, json: string): void {
    this.#command({ do: "answer", id, key, json });
  }

  fork(id: string, from: string, json: string | null): void {
    const as = this.#newId();
    this.#select(as);
    this.#command({ do: "fork", id, as, from, json });
  }

  /** Lets the model or a service answer. */
  reply(call: OutsideCall): void {
    this.#send({ do: "reply", number: call.number });
  }

  /** The run that the present worker drives. */
  get driven(): string | null {
    return this.live.driven;
  }

  /**
   * Ends the worker in the middle of what it does: nothing of it is asked, and nothing is cleaned up. Then the journal is read:
   * something may have been recorded that the page had not heard of.
   */
  async crash(): Promise<void> {
    const lost = [...this.live.attempts];
    await this.look();
    this.live.crashed = lost;
  }

  /** All objects of the bucket. */
  async objects(): Promise<Objects> {
    await this.#untilIdle();
    this.#start(null);
    const objects = new Promise<Objects>((resolve) => {
      this.#objects = resolve;
    });
    this.#send({ do: "dump" });
    return objects;
  }

  async fill(objects: Objects): Promise<void> {
    this.#start(null);
    this.#send({ do: "fill", objects });
    await this.#untilIdle();
  }

  readonly close = (): void => {
    this.#stop();
  };

  #newId(): string {
    let n = this.kept.runs.length + 1;
    while (this.kept.runs.includes(`run-${n}`)) n += 1;
    return `run-${n}`;
  }

  #select(id: string): void {
    this.#before = this.kept.selected;
    this.kept.runs.push(id);
    this.kept.selected = id;
  }

  /** A run that was refused before it began is not in the list, and the run before it is shown again. */
  #forgetUnmade(): void {
    const { kept, live } = this;
    const id = live.driven;
    if (id === null || this.#before === undefined || live.runs[id] !== undefined) return;
    kept.runs = kept.runs.filter((run) => run !== id);
    kept.selected = this.#before;
    live.driven = null;
  }

  #command(order: Order): void {
    this.#start(this.kept.code);
    this.live.driven = this.kept.selected;
    this.#send(order);
  }

  #start(code: string | null): void {
    this.#stop();
    Object.assign(this.live, {
      isBusy: true,
      attempts: [],
      open: [],
      replayed: [],
      message: null,
      crashed: null,
    });
    this.#unpriced = [];
    if (code !== null) this.live.lives += 1;
    const worker = new EngineWorker();
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<Report>) => {
      // What a terminated worker has said is no longer heard.
      if (this.#worker === worker) this.#hear(data);
    });
    worker.addEventListener("error", ({ message }) => {
      if (this.#worker === worker) this.#hear({ is: "failed", message });
    });
    const takes: Record<string, number> = {};
    for (const { prompt } of this.kept.calls) takes[prompt] = (takes[prompt] ?? 0) + 1;
    this.#send({
      do: "boot",
      boot: { bucket: bucketOf(this.workspace), code, pace: this.kept.pace, takes },
    });
  }

  #stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#settle();
  }

  #send(order: Order): void {
    this.#worker?.postMessage(order);
  }

  #hear(report: Report): void {
    const { live, kept } = this;
    switch (report.is) {
      case "run":
        live.runs[report.run.id] = report.run;
        if (report.run.id === live.driven) this.#price(report.run);
        return;
      case "call":
        kept.calls.push(report.call);
        live.open.push(report.call);
        return;
      case "replied":
        if (report.isDropped) {
          const dropped = live.open.find(({ number }) => number === report.number)?.key;
          live.attempts = live.attempts.filter((key) => key !== dropped);
        }
        live.open = live.open.filter(({ number }) => number !== report.number);
        return;
      case "attempt":
        live.attempts.push(report.key);
        return;
      case "attempt-end":
        live.attempts = live.attempts.filter((key) => key !== report.key);
        return;
      case "replayed":
        this.#spare(report.key);
        return;
      case "waiting":
        live.message = report.text;
        return;
      case "failed":
        live.message = report.message;
        live.isBusy = false;
        this.#forgetUnmade();
        return;
      case "objects":
        this.#objects?.(report.objects);
        return;
      case "done":
        if (live.message?.startsWith("The lease") === true) live.message = null;
        live.isBusy = false;
        live.attempts = [];
        live.open = [];
        this.#settle();
    }
  }

  /** A result came from the journal: it was not paid again. */
  #spare(key: string): void {
    this.live.replayed.push(key);
    this.kept.spared.count += 1;
    this.#unpriced.push(key);
    const run = this.live.runs[this.live.driven ?? ""];
    if (run !== undefined) this.#price(run);
  }

  /** Adds what results would have cost. A fork replays what it has inherited before the page knows its journal. */
  #price(run: RunPicture): void {
    this.#unpriced = this.#unpriced.filter((key) => {
      const entry = run.entries.findLast((one) => one.key === key);
      this.kept.spared.cost += entry?.cost ?? 0;
      return entry === undefined;
    });
  }

  #untilIdle(): Promise<void> {
    return this.live.isBusy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  #settle(): void {
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }
}
