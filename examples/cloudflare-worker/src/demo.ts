/**
 * Two runs over HTTP, and an emulator that is killed between and during them. Everything shown was answered
 * by the Worker in workerd; this file only sends the requests and kills.
 */

import { wait, type Terminal } from "example-llm";
import { demoVars } from "example-llm/emulator";
import { Stage } from "example-llm/stage";
import type { Served } from "./worker.ts";

/** Longer than a model call takes. */
const patienceMs = 60_000;

interface Standing {
  readonly status: string;
  readonly waiting?: readonly { readonly token: string; readonly note: { readonly draft: string } }[];
  readonly output?: { readonly published: boolean; readonly text: string };
}

type Reply = Standing & { readonly outcome?: Standing; readonly served: Served };

export class Demo {
  readonly #out: Terminal;
  readonly #stage: Stage;
  readonly #isolates = new Set<string>();
  /** How often a step of a run was run and recorded. */
  readonly #ran = new Map<string, number>();
  #journal = 0;

  constructor(out: Terminal) {
    this.#out = out;
    const vars = { DEV: "1", LEASE: "3s", ...demoVars(process.env) };
    this.#stage = new Stage(out, { example: "cloudflare-worker", vars });
  }

  async play(): Promise<void> {
    await this.#stage.begin();

    this.#stage.head("A request starts a run; the model writes, and a person is waited for");
    const topic = "The tide board shows the wind";
    const parked = await this.#post("/runs", { id: "wind", topic }, "wind");
    const { token = "", note } = parked.waiting?.[0] ?? {};
    this.#out.line(`  | ${note?.draft ?? ""}`);

    this.#stage.head("Another run is inside its second model call when everything dies");
    await this.#killInside("ferry", "The ferry sails at night");
    await this.#stage.start();

    this.#stage.head("The answer reaches another isolate, which has nothing but the bucket");
    const value = { approved: true, remark: "it is the wind at the pier." };
    const { outcome } = await this.#post("/resume", { token, value }, "wind");
    this.#out.line(`  | ${outcome?.output?.text ?? ""}`);
    await this.#post("/resume", { token, value: { approved: false } }, "wind");

    this.#stage.head("The request that was cut off is sent again, with the same id");
    await this.#post("/runs", { id: "ferry", topic: "The ferry sails at night" }, "ferry");
    this.#close();
  }

  end(): Promise<void> {
    return this.#stage.end();
  }

  async #killInside(id: string, topic: string): Promise<void> {
    const emulator = this.#stage.emulator;
    this.#out.line(`  POST /runs ${JSON.stringify({ id, topic })}`);
    const cut = emulator.ask("/runs", { id, topic }).catch(() => null);
    const late = Date.now() + patienceMs;
    let recorded: readonly string[] = [];
    while (!recorded.includes("outline")) {
      if (Date.now() > late) throw new Error("The first model call was not recorded.");
      await wait(50);
      const { status, body } = await emulator.ask(`/runs/${id}`);
      if (status < 300) recorded = (body as Reply).served.journal;
    }
    this.#out.line(`  GET /runs/${id}: running, recorded so far: ${recorded.join(", ")}`);
    await emulator.kill();
    if ((await cut) !== null) throw new Error("The request was answered before the emulator was killed.");
    // Recorded, although the response that would have reported it never came.
    for (const key of recorded) this.#count(id, key);
    this.#out.line(`  ${this.#out.paint("red", "kill -9")} emulator ${this.#stage.lives}: no answer`);
    this.#out.line();
  }

  /** Posts until no other isolate drives the run, and shows both sides. */
  async #post(path: string, body: unknown, run: string): Promise<Reply> {
    this.#out.line(`  POST ${path} ${JSON.stringify(body)}`);
    const late = Date.now() + patienceMs;
    for (let last = 0; ;) {
      if (Date.now() > late) throw new Error(`The lease of the dead driver of run ${run} did not expire.`);
      const { status, body: reply } = await this.#stage.emulator.ask(path, body);
      const { outcome, served, ...rest } = reply as Reply;
      if (served === undefined) throw new Error(`${path} answered ${status} ${JSON.stringify(reply)}`);
      if (last !== status)
        this.#showReply(status, `${rest.status}${outcome ? `, ${outcome.status}` : ""}`, served);
      last = status;
      if (status === 202) {
        await wait(250);
        continue;
      }
      for (const key of served.ran) this.#count(run, key);
      this.#journal += served.journal.length;
      return reply as Reply;
    }
  }

  #showReply(status: number, what: string, { isolate, model, ran, journal }: Served): void {
    if (this.#isolates.size === 0) this.#out.line(`  model: ${model}`);
    this.#isolates.add(isolate);
    this.#out.line(`  ${status} ${what}${status === 202 ? ": its dead driver's lease is still valid" : ""}`);
    const line = (word: string, keys: readonly string[]): void => {
      if (keys.length > 0) this.#out.line(`  isolate ${isolate}  ${word.padEnd(8)} ${keys.join(", ")}`);
    };
    line("journal", journal);
    line("ran", ran);
  }

  #count(run: string, key: string): void {
    this.#ran.set(`${run} ${key}`, (this.#ran.get(`${run} ${key}`) ?? 0) + 1);
  }

  #close(): void {
    const repeated = [...this.#ran.values()].filter((times) => times > 1).length;
    const calls = [...this.#ran.keys()].filter((key) => !key.endsWith(" publish")).length;
    this.#out.line();
    this.#out.line(
      `Done: ${calls} model calls recorded, ${repeated} of them repeated; ${this.#journal} steps came from the journal; ${this.#isolates.size} isolates, ${this.#stage.lives - 1} kill -9.`,
    );
  }
}
