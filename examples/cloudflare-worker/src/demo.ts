/**
 * Two runs over HTTP, and an emulator that is killed in the middle of both. After that, only GET requests are sent, which
 * drive nothing: the alarm of the object wakes the runs.
 */

import { wait, type Terminal } from "example-llm";
import { demoVars } from "example-llm/emulator";
import { Stage } from "example-llm/stage";

/** Longer than a lease and some model calls take. */
const patienceMs = 120_000;
/** In seconds. */
const embargo = 5;

interface Run {
  readonly status: string;
  readonly waiting?: readonly { readonly token: string; readonly note: { readonly draft: string } }[];
  readonly output?: { readonly text: string };
}

export class Demo {
  readonly #out: Terminal;
  readonly #stage: Stage;

  constructor(out: Terminal) {
    this.#out = out;
    const vars = { DEV: "1", ...demoVars(process.env) };
    this.#stage = new Stage(out, { example: "cloudflare-worker", vars });
  }

  async play(): Promise<void> {
    await this.#stage.begin();

    this.#stage.head("A request starts a run; the model writes, and a person is waited for");
    await this.#start("wind", { topic: "The tide board shows the wind", embargo });
    const { waiting } = await this.#until("wind", ({ status }) => status === "suspended");
    const { token = "", note } = waiting?.[0] ?? {};
    this.#out.line(`  | ${note?.draft ?? ""}`);

    this.#stage.head("Another run is inside its second model call when everything dies");
    await this.#start("ferry", { topic: "The ferry sails at night" });
    await this.#until("ferry", (_, steps) => steps.includes("outline"));
    await this.#stage.emulator.kill();
    this.#out.line(`  ${this.#out.paint("red", "kill -9")} emulator ${this.#stage.lives}`);
    this.#out.line();
    await this.#stage.start();

    this.#stage.head("A person answers; a second answer is too late");
    const value = { approved: true, remark: "it is the wind at the pier." };
    await this.#post(`/resume/${token}`, { value });
    await this.#post(`/resume/${token}`, { value: { approved: false } });

    this.#stage.head(
      `No request drives a run: the embargo of ${embargo} s ends, and so does the lease of the dead driver`,
    );
    const { output } = await this.#until("wind", ({ status }) => status === "completed");
    this.#out.line(`  | ${output?.text ?? ""}`);
    await this.#until("ferry", ({ status }) => status === "suspended");
    this.#out.line();
    const all = [await this.#steps("wind"), await this.#steps("ferry")];
    const repeated = all.flatMap((steps) => steps.filter((key, i) => steps.indexOf(key) < i));
    this.#out.line(
      `Done: ${all.flat().length} steps recorded, ${repeated.length} of them repeated; ${this.#stage.lives} emulators, 1 kill -9.`,
    );
  }

  end(): Promise<void> {
    return this.#stage.end();
  }

  #start(id: string, input: object): Promise<void> {
    return this.#post("/runs", { workflow: "announcement", id, input });
  }

  async #post(path: string, body: object): Promise<void> {
    const { status, body: reply } = await this.#stage.emulator.ask(path, body);
    this.#out.line(`  POST ${path} ${JSON.stringify(body)}`);
    this.#out.line(`  ${status} ${(reply as Run).status}`);
    if (status >= 500) throw new Error(JSON.stringify(reply));
  }

  /** Reads a run until it is so, and shows what it has recorded. */
  async #until(id: string, isSo: (run: Run, steps: readonly string[]) => boolean): Promise<Run> {
    for (const late = Date.now() + patienceMs; Date.now() < late; await wait(100)) {
      const run = (await this.#stage.emulator.ask(`/runs/${id}`)).body as Run;
      const steps = await this.#steps(id);
      if (!isSo(run, steps)) continue;
      this.#out.line(`  GET /runs/${id}: ${run.status}, recorded: ${steps.join(", ")}`);
      return run;
    }
    throw new Error(`Run ${id} did not get that far.`);
  }

  async #steps(id: string): Promise<readonly string[]> {
    const { body } = await this.#stage.emulator.ask(`/runs/${id}/entries`);
    const { entries } = body as {
      readonly entries: readonly { readonly kind: string; readonly key: string }[];
    };
    return entries.filter(({ kind }) => kind === "step.completed").map(({ key }) => key);
  }
}
