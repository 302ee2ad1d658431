/**
 * A whole conversation with a real server, which is killed in the middle of it. Everything shown was sent,
 * printed or written by that server; this file only acts as the people who write to it.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wrapped, type Terminal } from "example-llm";
import { nearby } from "example-llm/play";
import { DemoServer } from "./demo-server.ts";

/** A folder for the demo, emptied at each start. */
const folder = join(
  process.env["DURABLE_DIR"] || fileURLToPath(new URL("../.durable", import.meta.url)),
  "demo",
);
const outbox = join(folder, "outbox");

/** Settings of a public server, which this one must not use. */
const unset = Object.fromEntries(
  "HOST WEBHOOK_SECRET MAY_ASK MAY_APPROVE SENDER_LIMIT SMTP_URL MAIL_ADDRESS OUTBOX_DIR SITE_DIR APPROVAL_TIMEOUT"
    .split(" ")
    .map((name) => [name, ""]),
);

interface Letter {
  readonly to: string;
  readonly subject: string;
  readonly body: string;
  readonly messageId: string;
}

export class Demo {
  readonly #out: Terminal;
  #server: DemoServer | null = null;
  #url = "";
  #lives = 0;
  readonly #counts = { ran: 0, journal: 0, mails: 0, kills: 0 };

  constructor(out: Terminal) {
    this.#out = out;
  }

  async play(): Promise<void> {
    rmSync(folder, { recursive: true, force: true });
    await this.#start();

    this.#head("A request arrives");
    await this.#write(request("<1@example.com>", "Please put tide-board 2.0.0 on staging."), "started");
    const first = await this.#question();

    this.#head("The server dies, and another is started");
    await this.#kill();
    await this.#start();

    this.#head("The reply goes straight to the run that waits, which no process has in memory");
    await this.#write(
      reply("<2@example.com>", first, "2.0.0 is not signed off yet. Take 1.1.0, please."),
      "resumed",
    );
    const second = await this.#question();

    this.#head("Approved; the second copy of the mail, and a forged one, change nothing");
    const approval = reply("<3@example.com>", second, "approve");
    await this.#write(approval, "resumed");
    await this.#write(approval, "duplicate");
    await this.#write(reply("<4@example.com>", forged(second), "approve"), "ignored");
    await this.#result();

    this.#head("A release that is not healthy is rolled back");
    await this.#write(request("<5@example.com>", "Now 2.0.0 on staging, please."), "started");
    await this.#write(reply("<6@example.com>", await this.#question(), "approve"), "resumed");
    await this.#result();
    await this.#kill("");
    this.#close();
  }

  /** Ends the server, however the demo ended. */
  async end(): Promise<void> {
    await this.#server?.kill();
  }

  async #start(): Promise<void> {
    this.#server = new DemoServer({
      ...unset,
      DURABLE_DIR: folder,
      PORT: process.env["PORT"] || "0",
      DEMO_PACE: process.env["DEMO_PACE"] || "0.3",
    });
    this.#lives += 1;
    const lines: string[] = [];
    const [, url = ""] = await this.#server.until(/^webhook +(\S+)/);
    await this.#server.until(/^site/, (line) => lines.push(line));
    this.#url = url;
    this.#out.line();
    this.#out.line(`  ${this.#out.paint("bold", `server ${this.#lives}`)} listens at ${url}`);
    const facts = lines.filter((line) => /^(?:trust|people|model)/.test(line));
    if (this.#lives === 1) for (const fact of facts) this.#out.line(`  ${this.#out.paint("dim", fact)}`);
  }

  async #kill(said = "kill -9"): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
    if (said === "") return;
    this.#counts.kills += 1;
    this.#out.line();
    this.#out.line(`  ${this.#out.paint("red", said)} server ${this.#lives}`);
  }

  /** Posts a mail like a provider's webhook, and shows both sides. */
  async #write(letter: Letter, expected: string): Promise<void> {
    const email = { from: "Ada <ada@example.com>", ...letter };
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "email.received", email }),
    });
    const { status = "" } = (await response.json()) as { status?: string };
    this.#letter(
      "green",
      [`From: ${email.from}`, `To: ${letter.to}`, `Subject: ${letter.subject}`],
      letter.body,
    );
    this.#out.line();
    this.#out.line(`  POST /webhook: ${response.status} ${this.#out.paint("bold", status)}`);
    if (status !== expected)
      throw new Error(`The server says ${response.status} ${status}, not ${expected}.`);
  }

  /**
   * Shows the steps up to the next mail that asks for an answer, and that mail; returns the address to reply
   * to.
   */
  async #question(): Promise<string> {
    const text = await this.#mail("plan|question");
    const [, address = ""] = /^Reply-To:\s+(\S+)/m.exec(text) ?? [];
    return address;
  }

  async #result(): Promise<void> {
    await this.#mail("deployed|rolled-back|plan|question");
  }

  /** Shows the steps up to the one that sends such a mail, and the mail. */
  async #mail(kinds: string): Promise<string> {
    if (this.#server === null) throw new Error("There is no server.");
    const sent = new RegExp(`^\\S+ +ran +mail.* (\\S+-(?:${kinds})\\.eml)$`);
    this.#out.line();
    const [, file = ""] = await this.#server.until(sent, (line) => this.#row(line));
    const text = readFileSync(join(outbox, file), "utf8").replaceAll("\r\n", "\n");
    const [head = "", ...body] = text.split("\n\n");
    const wanted = /^(?:From|To|Subject|Reply-To):/;
    const headers = head.replaceAll(/\n\s+/g, " ").split("\n");
    this.#letter(
      "cyan",
      headers.filter((line) => wanted.test(line)),
      body.join("\n\n").trimEnd(),
    );
    return head;
  }

  /** A line of the server about a step: it ran there, or it came from the journal. */
  #row(line: string): void {
    const [, from, step = ""] = /^\S+ +(ran|journal|failed) +(.*)$/.exec(line) ?? [];
    if (from === undefined) return;
    if (from === "ran" || from === "journal") this.#counts[from] += 1;
    if (step.includes(".eml") && from === "ran") this.#counts.mails += 1;
    const style = from === "ran" ? "green" : from === "journal" ? "cyan" : "red";
    const who = this.#out.paint("dim", `server ${this.#lives}`);
    // File names begin with their time, which is cut here. The text before takes 21 characters on the screen.
    const shown = step.replace(/\d{8}-\d{6}\.\d{3}-/, "*-").slice(0, this.#out.width - 22);
    this.#out.line(`  ${who}  ${this.#out.paint(style, from.padEnd(8))} ${shown}`);
  }

  #letter(style: "green" | "cyan", headers: readonly string[], body: string): void {
    this.#out.line();
    const bar = this.#out.paint(style, "|");
    const width = Math.min(this.#out.width, 100) - 4;
    for (const line of headers) this.#out.line(`  ${bar} ${this.#out.paint("dim", line)}`);
    for (const line of ["", ...body.split("\n")]) {
      const shown = line.length > width ? wrapped(line, width) : [line];
      for (const text of shown) this.#out.line(`  ${bar} ${text}`.trimEnd());
    }
  }

  #head(text: string): void {
    this.#out.line();
    this.#out.line(this.#out.paint("bold", text));
  }

  #close(): void {
    const { ran, journal, mails, kills } = this.#counts;
    const site = join(nearby(folder), "site", "staging", "current", "server.mjs");
    this.#out.line();
    this.#out.line(
      `Done: ${ran} steps ran, ${journal} came from the journal after ${kills} kill -9, ${mails} mails went out.`,
    );
    this.#out.line(`  the mails     ${nearby(outbox)}`);
    this.#out.line(`  what is live  PORT=8080 node ${site}`);
    this.#out.line(`  serve it      npm run dev -w example-deploy-assistant`);
  }
}

function request(messageId: string, body: string): Letter {
  return { to: "deploy@localhost", subject: "Tide board", body, messageId };
}

function reply(messageId: string, to: string, body: string): Letter {
  return { to, subject: "Re: Tide board", body, messageId };
}

/** The same address with one letter of its token changed. */
function forged(address: string): string {
  const at = address.indexOf("@") - 1;
  return `${address.slice(0, at)}${address[at] === "a" ? "b" : "a"}${address.slice(at + 1)}`;
}
