/**
 * What a resume of a long conversation costs: CPU in a fresh process and in a warm one, the part of the AI SDK alone, and bytes
 * of the bucket. The run parks after every turn of 2.4 kB; the model answers at once.
 *
 * - process      all CPU of a new process that answers turn n, from its start to its end, loading the code included.
 * - resume       a cold app answers turn n: reads the bucket, replays n - 1 turns, calls the model once, parks.
 * - SDK alone    `generateText` n times with the same growing messages, without this library.
 *
 * It measures the built packages (`npm run build` first), because a process that strips types from sources is warm.
 *
 * CPU of a shared machine changes from hour to hour: only ratios of one report mean something.
 */

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { durableModel } from "@durable/ai-sdk";
import { createApp, durable, type Outcome } from "@durable/core";
import { FolderBucket } from "@durable/core/folder";
import { RemoteStorage } from "@durable/core/remote";
import { countingBucket } from "@durable/testing";
import { generateText, type LanguageModel, type ModelMessage } from "ai";

const question = (turn: number): string => `question ${turn}${" why".repeat(100)}`;
const model = {
  specificationVersion: "v4",
  provider: "bench",
  modelId: "instant",
  supportedUrls: {},
  doGenerate: () =>
    Promise.resolve({
      content: [{ type: "text", text: `answer${" word".repeat(400)}` }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    }),
} as unknown as LanguageModel & object;

const chat = durable("chat", async (ctx) => {
  const messages: ModelMessage[] = [];
  for (;;) {
    messages.push({ role: "user", content: await ctx.suspend<string>("ask") });
    const { text } = await generateText({ model: durableModel(ctx, model), messages });
    messages.push({ role: "assistant", content: text });
  }
});

async function alone(turns: number): Promise<void> {
  const messages: ModelMessage[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    messages.push({ role: "user", content: question(turn) });
    const { text } = await generateText({ model, messages });
    messages.push({ role: "assistant", content: text });
  }
}

function open(folder: string, warm: number) {
  const { counts, ...bucket } = countingBucket(new FolderBucket(folder));
  const storage = new RemoteStorage(bucket);
  const secret = "a secret for benchmarks, of no worth";
  const app = createApp({ storage, secret, workflows: [chat], patience: 0, warm, bind: false });
  return { app, counts };
}

/** Makes a conversation that waits for its last turn; returns the token for it, and the bytes that were written. */
async function park(folder: string, turns: number): Promise<{ token: string; written: number }> {
  const { app, counts } = open(folder, 1);
  let outcome: Outcome<unknown> = await app.run(chat, undefined, { id: "chat" });
  const token = (): string => (outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "");
  for (let turn = 1; turn < turns; turn++)
    outcome = (await app.resume(token(), question(turn))).outcome ?? outcome;
  return { token: token(), written: counts.written };
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return millis(process.cpuUsage(before));
}

function millis({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

function copyOf(folder: string): string {
  const copy = mkdtempSync(`${folder}-`);
  cpSync(folder, copy, { recursive: true });
  return copy;
}

const resume = (folder: string, token: string): Promise<number> =>
  cpuOf(() => open(folder, 0).app.resume(token, "the last question"));

/** CPU of resumes from copies of a folder: a third of the way up from the least. */
async function resumes(folder: string, token: string, rounds: number): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < rounds; round++) all.push(await resume(copyOf(folder), token));
  return third(all);
}

/** All CPU of this process, without that of copying the folder. */
async function wholeProcess(folder: string, token: string): Promise<number> {
  let copy = "";
  const copying = await cpuOf(() => Promise.resolve((copy = copyOf(folder))));
  await resume(copy, token);
  return millis(process.cpuUsage()) - copying;
}

function third(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 3)] ?? 0;
}

async function measured(turns: number, [what, folder = "", token = ""]: readonly string[]): Promise<number> {
  if (what === "fresh") return resumes(folder, token, 1);
  if (what === "process") return wholeProcess(folder, token);
  if (what === "fresh SDK") return cpuOf(() => alone(turns));
  if (what === "warm") return resumes(folder, token, 12);
  const rounds: number[] = [];
  for (let round = 0; round < 12; round++) rounds.push(await cpuOf(() => alone(turns)));
  return third(rounds);
}

/** One figure, of a process of its own; the least of three, because other programs only add to it. */
function ask(...args: readonly string[]): number {
  const self = fileURLToPath(import.meta.url);
  const figure = (): number =>
    Number(execFileSync(process.execPath, [...process.execArgv, self, ...args], { encoding: "utf8" }));
  return Math.min(figure(), figure(), figure());
}

const [given, ...args] = process.argv.slice(2);
if (given === undefined) {
  const root = mkdtempSync(join(tmpdir(), "durable-bench-"));
  console.log("CPU in ms           fresh process                 warm process                  written by");
  console.log("turns     process   resume SDK alone      ours    resume SDK alone      ours    all turns");
  for (const turns of [10, 30, 100, 300]) {
    const folder = join(root, String(turns));
    const { token, written } = await park(folder, turns);
    const of = (what: string): number => ask(String(turns), what, folder, token);
    const [fresh, freshSdk, warm, warmSdk] = [of("fresh"), of("fresh SDK"), of("warm"), of("warm SDK")];
    const row = [of("process"), fresh, freshSdk, fresh - freshSdk, warm, warmSdk, warm - warmSdk].map((ms) =>
      ms.toFixed(0),
    );
    console.log(
      [turns, ...row, `${(written / 1e6).toFixed(1)} MB`].map((cell) => String(cell).padStart(9)).join(" "),
    );
  }
  rmSync(root, { recursive: true });
} else if (args[0] === "park") console.log((await park(args[1] ?? "", Number(given))).token);
else console.log(await measured(Number(given), args));
