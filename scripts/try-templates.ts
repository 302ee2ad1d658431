/**
 * Makes each template of `durable init` from the packed packages, installs, compiles and builds it, and drives it: a run or an
 * answer is under way when its process is killed, and must end all the same. Installs much (Next.js, wrangler), so
 * it is not a stage. Needs `npm run build`, and Chromium. `npm run try:templates -- worker edge` takes some of them.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@durable/http/client";
import { openBrowser, picture } from "../packages/dashboard/test/support/chromium.ts";
import { startPostgres } from "../packages/postgres/test/support/server.ts";
import { packInto } from "./lib/pack.ts";
import {
  answers,
  freePort,
  kill,
  killAll,
  must,
  patienceMs,
  same,
  start,
  tarball,
  until,
} from "./lib/projects.ts";
import { root } from "./lib/workspace.ts";

type Page = Parameters<typeof picture>[0];

/** All that the offline model of the chats says. */
const wholeAnswer = /"(This answer [^"]+)"/.exec(
  readFileSync(join(root, "packages", "cli", "templates", "next-chat", "lib", "model.ts"), "utf8"),
)?.[1];
if (wholeAnswer === undefined) throw new Error("The model of next-chat says something else.");
const lastWords = wholeAnswer.slice(-30);

const drives: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  worker: driveWorker,
  edge: driveEdge,
  chat: (folder) => driveChat(folder, ["npm", "start"], { NODE_ENV: "production" }),
  "next-chat": driveNext,
};
const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(drives);
let failures = 0;

await packInto(async (tarballs, home) => {
  for (const name of names) {
    const began = performance.now();
    const seconds = (): string => `${Math.round((performance.now() - began) / 1000)} s`;
    try {
      const folder = make(name, tarballs, home);
      console.log(`${name}: installed from the packed packages, compiled and built (${seconds()})`);
      console.log(`${name}: ${await drives[name]?.(folder)} (${seconds()})`);
    } catch (error) {
      failures += 1;
      console.error(`${name}: FAILED. ${error instanceof Error ? error.stack : String(error)}`);
    } finally {
      await killAll();
    }
  }
});
console.log(
  `templates: ${names.length} made and driven, ${failures === 0 ? "all green" : `${failures} FAILED`}`,
);
process.exitCode = failures === 0 ? 0 : 1;

/** A project of a template, with all that npm installs, whose scripts `types` and `build` pass. */
function make(name: string, tarballs: string, home: string): string {
  const packages = ["core", "cli"].flatMap((one) => ["--package", tarball(tarballs, one)]);
  const folder = join(home, name);
  must(tarballs, "npm", [
    "exec",
    "--yes",
    ...packages,
    "--",
    "durable",
    "init",
    folder,
    "--template",
    name,
    "--from",
    tarballs,
  ]);
  for (const script of ["types", "build"]) must(folder, "npm", ["run", "--if-present", script]);
  return folder;
}

async function driveWorker(folder: string): Promise<string> {
  const database = await startPostgres();
  try {
    const env = {
      DATABASE_URL: database.url,
      RESUME_SECRET: "only for this check, 32 characters",
      API_KEY: "key",
      PORT: "0",
    };
    const url = await start(folder, ["npm", "run", "server"], env).said(/server: (\S+)/);
    const client = createClient({ url, headers: { authorization: "Bearer key" }, patienceMs });
    const run = await client.start("report", "tides", { id: "report-1" });
    const first = start(folder, ["npm", "run", "worker"], env);
    await until("the first step", async () => ((await run.report()) === null ? null : true));
    await kill(first.child);
    const before = await run.outcome();
    start(folder, ["npm", "run", "worker"], env);
    const output = await run.result({ wait: true });
    const wantedOutput = ["FACTS", "FIGURES", "SOURCES", "SUMMARY"].map((part) => `${part} OF TIDES`);
    same(output, wantedOutput);
    if (before.status === "completed") throw new Error("The worker was killed too late.");
    return "its worker was killed in the middle, and another one ended the run";
  } finally {
    await database.stop();
  }
}

async function driveEdge(folder: string): Promise<string> {
  const port = freePort();
  const serve = async (): Promise<ChildProcess> => {
    const command = ["node", "node_modules/wrangler/bin/wrangler.js", "dev", "--port", String(port)];
    const { child, said } = start(folder, command, {});
    await said(/(Ready) on/);
    return child;
  };
  const first = await serve();
  const headers = { authorization: "Bearer only-for-development" };
  const client = createClient({ url: `http://127.0.0.1:${port}`, headers, patienceMs });
  const run = await client.start("letter", "Ada", { id: "letter-1" });
  await until("its sleep", async () => ((await run.outcome()).state === "sleeping" ? true : null));
  await kill(first);
  await serve();
  const token = await until("its question", async () => {
    const outcome = await run.outcome();
    return outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? null) : null;
  });
  await client.resume(token, true);
  same(await run.result(), "sent: DEAR ADA");
  return "wrangler was killed while the run slept, and the run went on and was answered";
}

/** A page asks, the server is killed in the middle of the answer and started again, and the page has all of it. */
async function driveChat(
  folder: string,
  command: readonly string[],
  more: NodeJS.ProcessEnv,
): Promise<string> {
  const port = freePort();
  const env = { ...more, PORT: String(port) };
  const url = `http://127.0.0.1:${port}`;
  const first = start(folder, command, env);
  await answers(url);
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByLabel("Your message").fill("Why are there tides?");
    await page.getByRole("button", { name: "Send" }).click();
    await said(page, "no key");
    await kill(first.child);
    start(folder, command, env);
    await said(page, lastWords);
    await page.waitForFunction(`document.querySelector("[role=status]").textContent === "ready"`);
    await picture(page, folder.split("/").at(-1) ?? "chat");
    const texts = await page.locator("li.assistant").allTextContents();
    same(
      texts.map((text) => text.trim()),
      [wholeAnswer],
    );
    return "the server was killed in the middle of an answer, and the page went on to its end";
  } finally {
    await browser.close();
  }
}

async function said(page: Page, text: string): Promise<void> {
  await page.locator("li.assistant", { hasText: text }).waitFor({ timeout: patienceMs });
}

/** As the chat, and an answer that no page reads: it is ended by the cron job alone, without a worker. */
async function driveNext(folder: string): Promise<string> {
  const command = ["npm", "start"];
  const inPage = await driveChat(folder, command, {});
  await killAll();
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port), CRON_SECRET: "cron" };
  const first = start(folder, command, env);
  await answers(url);
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Who reads this?" }] };
  const response = await fetch(`${url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "alone", messages: [message], trigger: "submit-message" }),
  });
  const reader = response.body?.getReader();
  let text = "";
  while (!text.includes("small")) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error(`The answer ended too early: ${text}`);
    text += new TextDecoder().decode(value);
  }
  await kill(first.child);
  await reader?.cancel().catch(() => {});
  start(folder, command, env);
  await answers(url);
  const sweep = async (): Promise<{ readonly advanced: number }> => {
    const swept = await fetch(`${url}/api/sweep`, { headers: { authorization: "Bearer cron" } });
    return (await swept.json()) as { readonly advanced: number };
  };
  await until("the cron job to find the run", async () => ((await sweep()).advanced > 0 ? true : null));
  // Before anyone reads it, because readers continue an answer as well.
  const listed = must(folder, "npm", ["exec", "--", "durable", "ls", "--workflow", "answer", "--json"]);
  const { runs } = JSON.parse(listed) as { readonly runs: readonly { readonly status: string }[] };
  same(
    runs.map(({ status }) => status),
    ["completed", "completed"],
  );
  same((await sweep()).advanced, 0);
  const recorded = await (await fetch(`${url}/api/chat/alone/stream`)).text();
  same(wordsOf(recorded), wholeAnswer);
  return `${inPage}; an answer that nobody read was ended by the cron job`;
}

/** The words of an answer, from the events of its stream; fails unless the stream has its end. */
function wordsOf(stream: string): string {
  const events = [...stream.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, data = ""]) => JSON.parse(data) as { readonly type: string; readonly delta?: string },
  );
  if (events.at(-1)?.type !== "finish") throw new Error(`The stream has no end: ${stream}`);
  return events
    .map(({ type, delta }) => (type === "text-delta" ? delta : ""))
    .join("")
    .trim();
}
