/**
 * Reports that are submitted and left to the queue, a crash that the queue recovers, and one that only the
 * sweep can find. Everything shown was answered or printed by the Worker in workerd; this file only sends
 * requests and kills.
 */

import { wait, type Terminal } from "example-llm";
import { demoVars } from "example-llm/emulator";
import { Stage } from "example-llm/stage";
import { emulated } from "./emulated.ts";

/** Longer than a model call takes. */
const patienceMs = 60_000;

interface Standing {
  readonly status: string;
  readonly steps: readonly string[];
  readonly output?: { readonly published: boolean };
  readonly waiting?: readonly { readonly token: string }[];
}

export class Demo {
  readonly #out: Terminal;
  readonly #stage: Stage;
  /** The number of emulator lines already shown. */
  #shown = 0;
  readonly #ran: string[] = [];
  readonly #isolates = new Set<string>();
  #journal = 0;

  constructor(out: Terminal) {
    this.#out = out;
    const vars = { LEASE_SECONDS: process.env["LEASE_SECONDS"] || "3", ...demoVars(process.env) };
    this.#stage = new Stage(out, emulated(vars));
  }

  async play(): Promise<void> {
    await this.#stage.begin();

    this.#stage.head(
      "A report is submitted; it dies inside a model call, and the queue delivers its message again",
    );
    await this.#start("wind", "the wind at the pier (crash)");
    await this.#follow(/^crash: /);

    this.#stage.head("The answer comes early, before the run waits for it, and it comes twice");
    const path = await this.#question("wind");
    await this.#post(path, { value: { approved: true } }, 200);
    await this.#post(path, { value: { approved: true } }, 409);
    await this.#until("wind", ({ status }) => status === "completed");

    this.#stage.head("Another answer comes too late");
    await this.#post(path, { value: { approved: false } }, 409);
    await this.#look("wind");

    this.#stage.head(
      "Everything dies: Miniflare, workerd, and with them the queue, which is kept in memory here",
    );
    await this.#start("ferry", "the ferry at night");
    await this.#follow(/ran ask/);
    await this.#kill();
    await this.#stage.start();
    this.#shown = 0;
    await this.#look("ferry");

    this.#stage.head("No message is left. The sweep looks into the bucket");
    await this.#sweep();
    await this.#until("ferry", ({ steps, status }) => steps.includes("draft") && status === "suspended");
    await this.#post(await this.#question("ferry"), { value: { approved: true } }, 200);
    await this.#until("ferry", ({ status }) => status === "completed");
    this.#close();
  }

  end(): Promise<void> {
    return this.#stage.end();
  }

  async #kill(): Promise<void> {
    await this.#stage.end();
    this.#show();
    this.#out.line(`  ${this.#out.paint("red", "kill -9")} emulator ${this.#stage.lives}`);
    this.#out.line();
  }

  #start(id: string, topic: string): Promise<void> {
    return this.#post("/runs", { workflow: "report", id, input: { topic } }, 202);
  }

  async #post(path: string, body: unknown, expected: number): Promise<void> {
    this.#show();
    const { status, body: reply } = await this.#stage.emulator.ask(path, body);
    this.#out.line(`  POST ${path} ${JSON.stringify(body)}: ${status}`);
    if (status !== expected) throw new Error(JSON.stringify(reply));
  }

  async #get(id: string): Promise<Standing> {
    const { status, body } = await this.#stage.emulator.ask(`/runs/${id}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    const { entries } = (await this.#stage.emulator.ask(`/runs/${id}/entries`)).body as {
      readonly entries: readonly { readonly kind: string; readonly key: string }[];
    };
    const steps = entries.flatMap(({ kind, key }) => (kind === "step.completed" ? key : []));
    return { ...(body as Standing), steps };
  }

  async #look(id: string): Promise<void> {
    const { status, steps, output } = await this.#get(id);
    this.#show();
    const published = output === undefined ? "" : `, ${output.published ? "" : "not "}published`;
    this.#out.line(`  GET /runs/${id}: ${status}${published}, recorded: ${steps.join(", ")}`);
  }

  /** Where the person answers. */
  async #question(id: string): Promise<string> {
    const [question] = (await this.#get(id)).waiting ?? [];
    if (question === undefined) throw new Error(`Run ${id} has no question.`);
    return `/resume/${question.token}`;
  }

  /** The sweep finds a run after the lease of its dead driver has expired. */
  async #sweep(): Promise<void> {
    this.#out.line("  GET /cdn-cgi/handler/scheduled");
    const emulator = this.#stage.emulator;
    const late = Date.now() + patienceMs;
    for (let found = false; !found; found = emulator.lines.some((line) => line === "sweep: 1 due")) {
      if (Date.now() > late) throw new Error("The sweep did not find the run.");
      await emulator.ask("/cdn-cgi/handler/scheduled");
      await wait(500);
    }
  }

  /** Shows what the Worker prints, until a line matches. */
  async #follow(fits: RegExp): Promise<void> {
    const late = Date.now() + patienceMs;
    while (!this.#show().some((line) => fits.test(line))) {
      if (Date.now() > late) throw new Error(`The Worker did not print ${fits}.`);
      await wait(25);
    }
  }

  async #until(id: string, reached: (standing: Standing) => boolean): Promise<void> {
    const late = Date.now() + patienceMs;
    while (!reached(await this.#get(id))) {
      if (Date.now() > late) throw new Error(`Run ${id} did not reach the expected state.`);
      this.#show();
      await wait(100);
    }
    // Its output may arrive a little later.
    await wait(200);
    await this.#look(id);
  }

  /** Shows the new lines, and counts what they report. */
  #show(): string[] {
    const lines = this.#stage.emulator.lines.slice(this.#shown);
    this.#shown += lines.length;
    const ours = lines.filter((line) => /^(?:run|queue|crash|sweep)\b.*: /.test(line));
    for (const line of ours) {
      const [, run, isolate, word, key] = /^run (\S+): isolate (\S+) (ran|journal) (\S+)/.exec(line) ?? [];
      if (isolate !== undefined) this.#isolates.add(isolate);
      if (word === "ran") this.#ran.push(`${run} ${key}`);
      if (word === "journal") this.#journal += 1;
      this.#out.line(`    ${line.startsWith("crash") ? this.#out.paint("red", line) : line}`);
    }
    return ours;
  }

  #close(): void {
    const repeated = this.#ran.length - new Set(this.#ran).size;
    this.#out.line();
    this.#out.line(
      `Done: ${this.#ran.length} steps ran and were recorded, ${repeated} of them repeated; ${this.#journal} times one came from the journal; ${this.#isolates.size} isolates.`,
    );
  }
}
