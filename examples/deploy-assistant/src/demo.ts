/**
 * A whole conversation with a real server, which is killed in the middle of it. Everything shown was sent, printed or
 * written by that server; this file only acts as the people who write to it.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { terminal, wrapped, type Style } from "example-llm";
import { folderOf, nearby, play } from "example-llm/play";
import { DemoProcess } from "example-llm/process";

const { env } = process;
const out = terminal(process.stdout, env);
const example = "deploy-assistant";
/** Emptied at each start. */
const folder = join(folderOf(import.meta.url), "demo");
const outbox = join(folder, "outbox");

let server: DemoProcess;
let [url, lives, letters] = ["", 0, 0];
const counts = { ran: 0, journal: 0, mails: 0, kills: 0 };

async function demo(): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await start();

  head("A request arrives");
  await write("started", "deploy@localhost", "Please put tide-board 2.0.0 on staging.");
  const first = await mail("plan");

  head("The server dies, and another is started");
  await server.kill();
  out.line(`\n  ${out.paint("red", "kill -9")} server ${lives}`);
  counts.kills += 1;
  await start();

  head("The reply goes straight to the run that waits, which no process has in memory");
  await write("resumed", first, "2.0.0 is not signed off yet. Take 1.1.0, please.");
  const second = await mail("plan");

  head("Approved; the second copy of the mail, and a forged one, change nothing");
  await write("resumed", second, "approve");
  letters -= 1;
  await write("duplicate", second, "approve");
  const forged = second.replace(/.@/, (end) => (end === "a@" ? "b@" : "a@"));
  await write("ignored", forged, "approve");
  await mail("deployed");

  head("A release that is not healthy is rolled back");
  await write("started", "deploy@localhost", "Now 2.0.0 on staging, please.");
  await write("resumed", await mail("plan"), "approve");
  await mail("rolled-back");

  const { ran, journal, mails, kills } = counts;
  const done = `${ran} steps ran, ${journal} came from the journal after ${kills} kill -9, ${mails} mails went out.`;
  out.line(`\nDone: ${done}`);
  out.line(`  the mails     ${nearby(outbox)}`);
  out.line(`  what is live  PORT=8080 node ${nearby(join(folder, "site/staging/current/server.mjs"))}`);
  out.line(`  serve it      npm run dev -w example-deploy-assistant`);
}

async function start(): Promise<void> {
  // Of this environment, only the choice of the model: the server of the demo is not a public one.
  const given = Object.entries(env).filter(([name]) => /^LLM_|_API_KEY$|_BASE_URL$|^DEMO_PACE$/.test(name));
  const model = Object.fromEntries(given) as Record<string, string>;
  server = new DemoProcess({ example, folder }, { env: { PORT: "0", DEMO_PACE: "0.3", ...model } });
  const facts: string[] = [];
  await server.readTo(/^site/, (line) => facts.push(line));
  url = facts[0]?.replace(/^webhook +/, "") ?? "";
  out.line(`\n  ${out.paint("bold", `server ${(lives += 1)}`)} listens at ${url}`);
  if (lives > 1) return;
  for (const fact of facts.filter((line) => /^(?:trust|people|model)/.test(line)))
    out.line(`  ${out.paint("dim", fact)}`);
}

/** Posts a mail like a provider's webhook, and shows both sides. */
async function write(expected: string, to: string, body: string): Promise<void> {
  const [from, subject] = ["Ada <ada@example.com>", to.includes("+") ? "Re: Tide board" : "Tide board"];
  const email = { from, to, subject, body, messageId: `<${(letters += 1)}@example.com>` };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "email.received", email }),
  });
  const { status = "" } = (await response.json()) as { status?: string };
  letter("green", `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\n${body}`);
  out.line(`\n  POST /webhook: ${response.status} ${out.paint("bold", status)}`);
  if (status !== expected) throw new Error(`The server says ${response.status} ${status}, not ${expected}.`);
}

/** Shows the steps up to the one that sends such a mail, and the mail. Returns the address to reply to. */
async function mail(kind: string): Promise<string> {
  out.line();
  const sent = await server.readTo(new RegExp(`^\\S+ +(?:ran +mail.*-${kind}\\.eml|run +failed .*)$`), row);
  if (!sent.endsWith(".eml")) throw new Error(sent);
  const text = readFileSync(join(outbox, sent.replace(/^.* /, "")), "utf8").replaceAll("\r\n", "\n");
  letter("cyan", text);
  return /^Reply-To:\s+(\S+)/m.exec(text)?.[1] ?? "";
}

/** A line of the server about a step: it ran there, or it came from the journal. */
function row(line: string): void {
  const [, text = "", from] = /^\S+ +((ran|journal|failed) .*)$/.exec(line) ?? [];
  if (from === "ran" || from === "journal") counts[from] += 1;
  if (from === "ran" && text.endsWith(".eml")) counts.mails += 1;
  if (from === undefined) return;
  // File names begin with their time, which is cut here.
  out.line(`  ${out.paint("dim", `server ${lives}`)}  ${text.replace(/\d{8}-\d{6}\.\d{3}-/, "*-")}`);
}

/** Of the headers, those that a mail program shows. */
function letter(style: Style, text: string): void {
  const [headers = "", ...body] = text.trimEnd().split("\n\n");
  const unfolded = headers.replaceAll(/\n\s+/g, " ").split("\n");
  const shown = unfolded.filter((line) => /^(?:From|To|Subject|Reply-To):/.test(line));
  out.line();
  for (const line of [...shown, "", ...body.join("\n\n").split("\n")])
    for (const part of line.length > 96 ? wrapped(line, 96) : [line])
      out.line(`  ${out.paint(style, "|")} ${part}`.trimEnd());
}

function head(text: string): void {
  out.line(`\n${out.paint("bold", text)}`);
}

await play({ play: demo, end: async () => void (await server.kill()) });
