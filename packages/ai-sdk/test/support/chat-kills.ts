/**
 * Kills the server of a chat at an instant of an answer, starts it again, and checks:
 *
 * C1. The page ends with one clean list: no message and no part twice, none missing, and another page loads the same.
 * C2. A tool that was recorded when the server was killed does not run again, and no call is made in two runs.
 * C3. The provider is called at most once more than without the kill.
 *
 * Instants are the events that the provider sends. A page is some time behind them, so the kill comes at once, or when the
 * page shows them. The page is the real `Chat` of @ai-sdk/react.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import type { UIMessage } from "ai";
import { Provider } from "./provider.ts";
import { RealChat, reconnecting, shown, stock, Wire } from "./real-chat.ts";
import { scripted, type Style } from "./rounds-server.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const program = fileURLToPath(new URL("./rounds-child.ts", import.meta.url));

/** What a page does when the server is killed. */
export interface Form {
  readonly name: string;
  readonly question: "look it" | "locate it" | "pay it";
  readonly style: Style;
  /** With the SDK's transport the page resumes when it is told of an error; `reload` is a new page. */
  readonly page: "reconnects" | "resumes" | "reloads";
  /** The answer during which the kill happens. */
  readonly turn?: "edit" | "regenerate";
}

export const forms: readonly Form[] = [
  { name: "a tool", question: "look it", style: "plain", page: "reconnects" },
  { name: "generated ids", question: "look it", style: "ids", page: "reconnects" },
  { name: "a created stream", question: "look it", style: "created", page: "reconnects" },
  { name: "an edit", question: "look it", style: "ids", page: "reconnects", turn: "edit" },
  { name: "another answer", question: "look it", style: "created", page: "reconnects", turn: "regenerate" },
  { name: "client tools", question: "locate it", style: "plain", page: "reconnects" },
  { name: "approvals", question: "pay it", style: "ids", page: "reconnects" },
  { name: "a page that resumes", question: "look it", style: "created", page: "resumes" },
  { name: "client tools, a page that reloads", question: "locate it", style: "ids", page: "reloads" },
  { name: "approvals, a page that resumes", question: "pay it", style: "plain", page: "resumes" },
];

/** An event of the provider, and what the page must show before the kill. */
export interface Instant {
  readonly event: number;
  readonly shows?: RegExp;
}

/** In the first turn, at its end, in its tools or in the round after it, and to the end of the last. */
export const instants: readonly Instant[] = [
  { event: 1 },
  { event: 5, shows: /Round/ },
  { event: 7 },
  { event: 12, shows: /Round 1/ },
  { event: 18, shows: /w\d+-\d/ },
  { event: 24 },
];

export interface Killed {
  readonly killed: boolean;
  /** How many characters of the answer the page showed at the kill. */
  readonly shown: number;
  readonly instants: number;
  readonly calls: number;
  readonly effects: number;
  readonly connections: number;
}

export class KillLab {
  readonly #folder = mkdtempSync(join(tmpdir(), "ai-sdk-chat-kill-"));
  readonly #provider: Provider;
  readonly #wire = new Wire("");
  #child: ChildProcess | null = null;
  #chats = 0;

  private constructor(provider: Provider) {
    this.#provider = provider;
  }

  static async open(): Promise<KillLab> {
    const lab = new KillLab(await Provider.open(scripted));
    await lab.#start();
    return lab;
  }

  async close(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#provider.close();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Kills at that event of the answer, counted from 1; 0 means no kill. Throws what is broken. */
  async killAt(form: Form, instant: Instant): Promise<Killed> {
    const page = new Page(this.#wire, form, `chat-${(this.#chats += 1)}`);
    const where = `${form.name}, instant ${instant.event}`;
    await page.before();
    const { requests } = this.#provider;
    const [calls, posts] = [requests.length, this.#wire.requests.length];
    const before = this.#effects.length;
    let seen = 0;
    const restarts: Promise<Recorded>[] = [];
    this.#provider.paceMs = 4;
    this.#provider.onEvent = () => {
      seen += 1;
      if (seen === instant.event) restarts.push(this.#restart(page, instant));
    };
    await page.ask();
    this.#provider.onEvent = () => {};
    this.#provider.paceMs = 0;
    const recorded = (await restarts[0]) ?? null;
    await page.check(where);
    const effects = this.#effects.slice(before);
    this.#checkEffects(form, effects, recorded, where);
    const made = requests.length - calls;
    if (made > callsOf[form.question] + (recorded === null ? 0 : 1))
      throw new Error(`C3: ${where}: ${made} calls`);
    const connections = this.#wire.requests.length - posts;
    const shown = recorded?.shown ?? 0;
    return {
      killed: recorded !== null,
      shown,
      instants: seen,
      calls: made,
      effects: effects.length,
      connections,
    };
  }

  #checkEffects(form: Form, effects: readonly string[], recorded: Recorded | null, where: string): void {
    const keys = new Map<string, Set<string>>();
    for (const line of effects) {
      const [tool = "", call = "", key = ""] = line.split(" ");
      const name = `${tool} ${call}`;
      keys.set(name, (keys.get(name) ?? new Set()).add(key));
    }
    const doubled = [...keys].filter(([, own]) => own.size > 1).map(([name]) => name);
    if (doubled.length > 0) throw new Error(`C2: ${where}: made in two runs: ${doubled.join(", ")}`);
    if (keys.size !== effectsOf[form.question])
      throw new Error(`C2: ${where}: effects ${[...keys.keys()].join(", ")}`);
    const again = (recorded === null ? [] : this.#effects.slice(recorded.effects)).filter((line) =>
      recorded?.steps.has(line.split(" ").slice(0, 2).join(" ")),
    );
    if (again.length > 0) throw new Error(`C2: ${where}: ran again: ${again.join(", ")}`);
  }

  get #effects(): string[] {
    const file = join(this.#folder, "effects.txt");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  }

  async #start(): Promise<void> {
    const journal = join(this.#folder, "journal.db");
    const args = [program, journal, this.#provider.url, join(this.#folder, "effects.txt")];
    const child = spawn(process.execPath, ["--conditions=durable-source", ...args], {
      cwd: root,
      env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node-compile") },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.#wire.api = await new Promise((resolve) =>
      child.stdout.once("data", (text: Buffer) => resolve(text.toString().trim())),
    );
  }

  async #restart(page: Page, { shows }: Instant): Promise<Recorded> {
    if (shows !== undefined) {
      this.#provider.allowed = 0;
      await page.shows(shows);
      this.#provider.allowed = Infinity;
    }
    const child = this.#child;
    const gone = new Promise((resolve) => child?.once("exit", resolve));
    child?.kill("SIGKILL");
    await gone;
    const shown = page.text.length;
    const storage = new SqliteStorage(join(this.#folder, "journal.db"));
    const app = createApp({ storage, secret: "a secret for tests, of no worth", workflows: [] });
    const steps = new Set<string>();
    for (const { runId } of (await app.list({ workflow: "answer" })).runs)
      for (const entry of await app.get(runId).entries())
        if (entry.kind === "step.completed") steps.add(entry.key);
    await storage.close();
    const recorded = { steps, shown, effects: this.#effects.length };
    await this.#start();
    page.serverIsBack();
    return recorded;
  }
}

/** What was recorded at the kill, and how many effects there were. */
interface Recorded {
  readonly steps: ReadonlySet<string>;
  readonly shown: number;
  readonly effects: number;
}

const callsOf = { "look it": 2, "locate it": 3, "pay it": 3 };
const effectsOf = { "look it": 1, "locate it": 0, "pay it": 2 };
const words = Array.from({ length: 12 }, (_, i) => `w-${i}`).join(" ");

/** A page, its user, and the list of messages that it ends with. */
class Page {
  readonly #wire: Wire;
  readonly #form: Form;
  readonly #id: string;
  #chat: RealChat;
  /** The server was away, and is back. */
  #back = false;
  #first = "";

  constructor(wire: Wire, form: Form, id: string) {
    this.#wire = wire;
    this.#form = form;
    this.#id = id;
    this.#chat = this.#open([]);
  }

  /** The turn before the one that is killed. */
  async before(): Promise<void> {
    const { turn, question } = this.#form;
    if (turn === undefined) return;
    await this.#chat.sendMessage({ text: turn === "edit" ? `${question} first` : question });
    this.#first = this.#chat.texts.at(-1) ?? "";
  }

  async ask(): Promise<void> {
    const { turn, question: text } = this.#form;
    const [first] = this.#chat.messages;
    if (turn === "regenerate") void this.#chat.regenerate();
    else void this.#chat.sendMessage(turn === "edit" && first ? { text, messageId: first.id } : { text });
    // Until then, the page shows the turn before.
    await this.#chat.until(({ status }) => status === "submitted");
    for (;;) {
      await this.#chat.answerAll(() => this.#form.page !== "reconnects" && this.#back);
      if (this.#chat.isComplete) return;
      await this.#comeBack();
    }
  }

  get text(): string {
    return this.#chat.texts.join("|");
  }

  shows(what: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (what.test(this.text)) resolve();
      };
      this.#chat["~registerMessagesCallback"](look);
      look();
    });
  }

  serverIsBack(): void {
    this.#back = true;
    this.#chat.onChange();
  }

  /** What a page with the SDK's transport does when it is reloaded, or its user presses a button. */
  async #comeBack(): Promise<void> {
    this.#back = false;
    if (this.#form.page === "reloads") {
      await this.#chat.stop();
      // What a program has saved: the messages of the last request.
      this.#chat = this.#open(this.#wire.sent(this.#id));
    }
    await this.#chat.resumeStream();
    if (this.#chat.lastMessage?.role === "user") await this.#chat.sendMessage();
  }

  /** Throws if the list is not clean. */
  async check(where: string): Promise<void> {
    const { question, style } = this.#form;
    const name = `tool-${question.split(" ")[0]}`;
    const rounds = Array.from(
      { length: callsOf[question] - 1 },
      (_, i) => `step-start "Round ${i + 1}." ${name}=output-available`,
    );
    const notes = style === "created" ? "data-note " : "";
    const expected = [
      `user: "${question}"`,
      `assistant: ${notes}${rounds.join(" ")} step-start "${question}: ${words} end."`,
    ];
    const lines = shown(this.#chat.messages);
    if (JSON.stringify(lines) !== JSON.stringify(expected))
      throw new Error(`C1: ${where}: ${lines.join("\n")}`);
    if (this.#chat.texts.at(-1) === this.#first) throw new Error(`C1: ${where}: the answer before`);
    const other = new RealChat(this.#wire, {
      id: this.#id,
      messages: this.#wire.sent(this.#id),
      transport: stock(this.#wire, style),
    });
    await other.resumeStream();
    const [mine, loaded] = [this.#chat.messages, other.messages].map(
      (list) => JSON.stringify(list.map(({ id }) => id)) + shown(list).join(),
    );
    if (mine !== loaded) throw new Error(`C1: ${where}: another page shows ${loaded}, and not ${mine}`);
  }

  #open(messages: UIMessage[]): RealChat {
    const { page, style } = this.#form;
    const transport = page === "reconnects" ? reconnecting(this.#wire, style) : stock(this.#wire, style);
    return new RealChat(this.#wire, { id: this.#id, messages, transport });
  }
}
