/**
 * Messages from several processes to many runs, while processes are killed. Each message must be read once, and those of one
 * sender to one run in their order.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inLanes, pause } from "./children.ts";
import { firstState, mailApp, wrongWith } from "./mail-flow.ts";
import { openStorage, type Place } from "./storage.ts";

export interface MailOptions {
  readonly runs: number;
  /** Of all senders together; a multiple of runs and senders. */
  readonly messages: number;
  readonly senders: number;
  readonly workers: number;
  /** How many processes are killed, senders and workers in turn. */
  readonly kills: number;
  readonly killEveryMs: number;
  /** How long all of it may take. */
  readonly patienceMs: number;
  readonly progress?: (line: string) => void;
}

export interface MailReport {
  readonly completed: number;
  readonly kills: number;
  readonly wrong: readonly string[];
}

const program = fileURLToPath(new URL("mail-process.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

/** A process that is started again when it is killed. */
class MailProcess {
  readonly #args: (sent: number) => readonly string[];
  #child: ChildProcess;
  #sent = 0;
  #complaints = "";
  stopped = false;
  done: Promise<void>;

  constructor(args: (sent: number) => readonly string[]) {
    this.#args = args;
    this.#child = this.#start();
    this.done = this.#live();
  }

  #start(): ChildProcess {
    const args = ["--conditions=durable-source", program, ...this.#args(this.#sent)];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
      stdio: ["ignore", "pipe", "pipe"],
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, sent] = /^sent (\d+)$/.exec(line) ?? [];
      if (sent !== undefined) this.#sent = Number(sent);
    });
    child.stderr.on("data", (chunk: Buffer) => (this.#complaints += chunk.toString()));
    return child;
  }

  /** Until it ends by itself. */
  async #live(): Promise<void> {
    for (;;) {
      const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
        this.#child.once("close", (...how) => resolve(how)),
      );
      if (code === 0 || this.stopped) return;
      if (signal !== "SIGKILL") throw new Error(`A process ended with ${code}: ${this.#complaints}`);
      this.#child = this.#start();
    }
  }

  /** It sends again what was not acknowledged, and a part of what was. */
  get sentAgainFrom(): number {
    return Math.max(0, this.#sent - 16);
  }

  kill(): void {
    this.#sent = this.sentAgainFrom;
    this.#child.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), 15_000);
    await this.done;
    clearTimeout(late);
  }
}

/** Kills processes of several kinds in turn, until it is ended. */
class Attack {
  kills = 0;
  #over = false;
  readonly #done: Promise<void>;

  constructor({ kills, killEveryMs }: MailOptions, kinds: readonly (readonly MailProcess[])[]) {
    this.#done = this.#run(kills, killEveryMs, kinds);
  }

  async #run(most: number, everyMs: number, kinds: readonly (readonly MailProcess[])[]): Promise<void> {
    while (!this.#over && this.kills < most) {
      await pause(everyMs);
      const among = kinds[this.kills % kinds.length] ?? [];
      among[Math.floor(Math.random() * among.length)]?.kill();
      this.kills += 1;
    }
  }

  end(): Promise<void> {
    this.#over = true;
    return this.#done;
  }
}

export async function sendMany(place: Place, options: MailOptions): Promise<MailReport> {
  const { runs, messages, senders, workers, progress = () => {} } = options;
  const expects = messages / runs;
  const each = messages / senders;
  if (!Number.isInteger(expects) || !Number.isInteger(each / runs))
    throw new Error("The messages of each sender must be a multiple of the runs.");
  const storage = await openStorage(place.url);
  const app = mailApp(storage);
  const ids = Array.from({ length: runs }, (_, n) => `run-${n}`);
  await inLanes(ids, 50, async (id) => {
    await app.start("mailbox", firstState(expects), { id, drive: false });
  });
  const [url, count] = [place.url, String(runs)];
  const reading = Array.from({ length: workers }, () => new MailProcess(() => ["worker", url]));
  const sending = Array.from(
    { length: senders },
    (_, i) => new MailProcess((from) => ["sender", url, `s${i}`, count, String(each), String(from)]),
  );
  const attack = new Attack(options, [sending, reading]);
  try {
    await Promise.all(sending.map(({ done }) => done));
    progress(`${messages} messages are sent, ${attack.kills} processes were killed`);
    const until = Date.now() + options.patienceMs;
    while ((await app.list({ status: "completed", limit: 1_000 })).runs.length < Math.min(runs, 1_000)) {
      if (Date.now() > until) break;
      await pause(100);
    }
    await attack.end();
    return { ...(await judge(app, ids, expects)), kills: attack.kills };
  } finally {
    await attack.end();
    await Promise.all([...reading, ...sending].map((one) => one.stop()));
    await storage.close();
  }
}

async function judge(
  app: ReturnType<typeof mailApp>,
  ids: readonly string[],
  expects: number,
): Promise<Pick<MailReport, "completed" | "wrong">> {
  let completed = 0;
  const wrong: string[] = [];
  for (const id of ids) {
    const outcome = await app.get(id).outcome();
    if (outcome.status !== "completed") {
      wrong.push(`${id} is ${outcome.status}`);
      continue;
    }
    completed += 1;
    for (const what of wrongWith(outcome.output, expects)) wrong.push(`${id}: ${what}`);
  }
  return { completed, wrong };
}
