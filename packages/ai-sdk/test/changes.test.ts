/** Prompts, tools and settings that change while a run is parked. */

import { Journal, MemoryStorage, type Context } from "@durable/core";
import type { ToolSet } from "ai";
import { afterEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { durableModel, durableTools, type ModelOptions } from "../src/index.ts";
import { Lab, waitOf } from "./support/lab.ts";
import { Provider, type Heard, type Said } from "./support/provider.ts";
import { latest, versions, type Version } from "./support/versions.ts";

/** A change of the code, and how the message names it. */
interface Edit {
  readonly system?: string;
  readonly prompt?: string;
  readonly temperature?: number;
  readonly model?: string;
  readonly description?: string;
  readonly order?: readonly string[];
  readonly extra?: "before" | "after";
  readonly names?: string;
}

const edits: Readonly<Record<string, Edit>> = {
  "a word of the system prompt": { system: "You pay bills, promptly.", names: "the system prompt" },
  "a word of the question": { prompt: "Please pay all my bills.", names: "message 1" },
  "a word of a tool": { description: "Pays one bill.", names: 'tool "pay"' },
  "a tool added": { order: ["pay", "look", "list"], names: 'tool "list", which was added' },
  "a tool removed": { order: ["pay"], names: "a tool that was removed" },
  "tools reordered": { order: ["look", "pay"], names: "the order of the tools" },
  "another model": { model: "scripted-2", names: "the model" },
  "another temperature": { temperature: 0.2, names: 'setting "temperature"' },
  "a call before": { extra: "before", names: "the system prompt" },
  "a call after": { extra: "after" },
};

/** Two turns that pay, and one that says so. Call ids are new in every answer. */
function banker({ question, results, number }: Heard): Said {
  if (!question.includes("pay")) return { text: `said ${number}` };
  if (results >= 2) return { text: `paid, ${number}` };
  return { text: "", calls: [{ tool: "pay", input: { amount: results + 1 }, id: `call_${number}` }] };
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

class Bank {
  readonly lab = new Lab();
  readonly paid: number[] = [];
  readonly #server: Provider;
  readonly #version: Version;
  readonly #streams: boolean;

  private constructor(server: Provider, version: Version, streams: boolean) {
    this.#server = server;
    this.#version = version;
    this.#streams = streams;
  }

  static async open(version: Version, streams: boolean): Promise<Bank> {
    const server = await Provider.open(banker);
    open.push(server);
    return new Bank(server, version, streams);
  }

  get requests(): number {
    return this.#server.requests.length;
  }

  /** Questions to people, ever. */
  async questions(): Promise<number> {
    return (await this.lab.entries()).filter((entry) => entry.kind === "suspend.opened").length;
  }

  body(edit: Edit = {}, onChange?: ModelOptions["onChange"]) {
    const { ai, models } = this.#version;
    return async (ctx: Context): Promise<string> => {
      const plain = models.chat(this.#server.url);
      const named = edit.model === undefined ? plain : Object.assign(plain, { modelId: edit.model });
      const model = durableModel(ctx, named, { onChange });
      const say = async (prompt: string) => void (await ai.generateText({ model, prompt }));
      if (edit.extra === "before") await say("Good morning.");
      const asked = {
        model,
        system: edit.system ?? "You pay bills.",
        prompt: edit.prompt ?? "Please pay my bills.",
        ...(edit.temperature === undefined ? {} : { temperature: edit.temperature }),
        tools: this.#tools(ctx, edit),
        stopWhen: ai.stepCountIs(5),
      };
      const { text } = this.#streams ? ai.streamText(asked) : await ai.generateText(asked);
      const said = await text;
      if (edit.extra === "after") await say("Good night.");
      return said;
    };
  }

  #tools(ctx: Context, { description = "Pays a bill.", order = ["pay", "look"] }: Edit): ToolSet {
    const { ai } = this.#version;
    const inputSchema = z.object({ amount: z.number() });
    const pay = ai.tool({
      description,
      inputSchema,
      execute: ({ amount }: { amount: number }) => `receipt ${this.paid.push(amount)}`,
    });
    const other = ai.tool({ description: "Shows bills.", inputSchema, execute: () => "none" });
    const all: ToolSet = { pay, look: other, list: other };
    const used = Object.fromEntries(order.map((name) => [name, all[name] as ToolSet[string]]));
    return durableTools(ctx, used, { pay: { approve: true } });
  }

  /** Answers the open approval, with this code. */
  async approve(body: (ctx: Context) => Promise<string>): Promise<void> {
    const { token } = waitOf(await this.lab.drive(body), "approval");
    const status = await this.lab.resume(body, token, true);
    if (status !== "accepted") throw new Error(`the approval is ${status}`);
  }
}

/** The run waits for the first approval, for the second, or has its answer. */
const parks = inject("full") ? [2] : [1];
const forms = inject("full")
  ? versions.map((version, index) => ({ version, streams: index % 2 === 0 }))
  : [{ version: latest, streams: true }];

describe.each(forms)("$version.name, streams: $streams", ({ version, streams }) => {
  describe.each(Object.entries(edits))("%s", (name, edit) => {
    const parked = async (park: number): Promise<Bank> => {
      const bank = await Bank.open(version, streams);
      for (let i = 0; i < park; i++) await bank.approve(bank.body());
      await bank.lab.drive(bank.body());
      expect([bank.requests, bank.paid.length]).toEqual([park + 1, park]);
      return bank;
    };
    const isReached = (park: number): boolean => edit.extra !== "after" || park === 2;
    /** To the end, with this code: what is paid, asked of people and of the provider. */
    const finish = async (bank: Bank, park: number, body: (ctx: Context) => Promise<string>) => {
      for (let i = park; i < 2; i++) await bank.approve(body);
      const { value, error, outcome } = await bank.lab.drive(body);
      expect({ error, outcome }).toMatchObject({
        error: undefined,
        outcome: { status: "suspended", waiting: [{ key: "more" }] },
      });
      return { value, paid: bank.paid, requests: bank.requests };
    };

    test.each(parks)("block, at park %i: nothing is asked, and the old code goes on", async (park) => {
      const bank = await parked(park);
      const questions = await bank.questions();
      const { outcome } = await bank.lab.drive(bank.body(edit));
      if (edit.extra === "after") {
        expect(outcome.status).toBe("suspended");
        expect(bank.requests).toBe(park + 1 + (isReached(park) ? 1 : 0));
        return;
      }
      expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
      const { message } = (outcome as { error: Error }).error;
      expect(message).toContain(`The first difference is ${edit.names}.`);
      expect([bank.requests, bank.paid.length, await bank.questions()]).toEqual([park + 1, park, questions]);
      expect(await finish(bank, park, bank.body())).toEqual({ value: "paid, 3", paid: [1, 2], requests: 3 });
    });

    test.each(parks)("keep, at park %i: the recorded turns stay, and nobody is asked twice", async (park) => {
      const bank = await parked(park);
      const changed = bank.body(edit, "keep");
      const { outcome } = await bank.lab.drive(changed);
      if (edit.extra === "before") {
        expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
        expect((outcome as { error: Error }).error.message).toContain('qualifies for onChange: "keep"');
        expect(bank.requests).toBe(park + 1);
        return;
      }
      const { value, paid, requests } = await finish(bank, park, changed);
      expect({ value, paid }).toEqual({ value: "paid, 3", paid: [1, 2] });
      expect(requests).toBe(edit.extra === "after" ? 4 : 3);
      // The two approvals, and the wait of the test.
      expect(await bank.questions()).toBe(3);
      // Another life finds everything under its new name.
      const again = await bank.lab.drive(bank.body(edit));
      expect([again.value, bank.requests]).toEqual([value, requests]);
    });

    // In a sample, one edit in three: it asks whatever has changed.
    test.runIf(inject("full") || Object.keys(edits).indexOf(name) % 3 === 0)(
      "ask: asks again, as it was told",
      async () => {
        const bank = await parked(2);
        const { error } = await bank.lab.drive(bank.body(edit, "ask"));
        expect(error).toBeUndefined();
        expect(bank.requests).toBeGreaterThan(3);
      },
    );
  });
});

test("two agents side by side, of which one goes on: neither takes the other for a change", async () => {
  const bank = await Bank.open(latest, true);
  const [one, two] = [bank.body(), bank.body({ prompt: "Please pay hers." })];
  const both = async (ctx: Context) => (await Promise.all([one(ctx), two(ctx)])).join(", ");
  const { outcome } = await bank.lab.drive(both);
  expect(outcome).toMatchObject({ status: "suspended", waiting: [{}, {}] });
  await bank.approve(both);
  const { outcome: after } = await bank.lab.drive(both);
  expect(after.status).toBe("suspended");
  expect(bank.requests).toBe(3);
});

test("keep, with two agents whose prompts changed: which answer is whose is not known, so the run is blocked", async () => {
  const bank = await Bank.open(latest, false);
  const both = (edit: Edit, onChange?: "keep") => async (ctx: Context) =>
    (
      await Promise.all([
        bank.body(edit, onChange)(ctx),
        bank.body({ ...edit, prompt: "Please pay hers." }, onChange)(ctx),
      ])
    ).join(", ");
  await bank.lab.drive(both({}));
  const { outcome } = await bank.lab.drive(both({ system: "You pay." }, "keep"));
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  expect((outcome as { error: Error }).error.message).toContain("more than one pair");
  expect(bank.requests).toBe(2);
});

describe("K1 a date in the system prompt, and an approval over night", () => {
  const tomorrow = { system: "You pay bills. Today is 2026-11-19." };
  const parked = async (version: string | undefined): Promise<Bank> => {
    const bank = await Bank.open(latest, true);
    bank.lab.version = version;
    await bank.lab.drive(bank.body({ system: "You pay bills. Today is 2026-11-18." }));
    return bank;
  };

  test("the same version of the code keeps the answer, once, and asks nobody twice", async () => {
    const bank = await parked("1");
    await bank.approve(bank.body(tomorrow));
    expect([bank.requests, bank.paid, await bank.questions()]).toEqual([2, [1], 2]);
    // The turn after the kept one has the prompt of its own day.
    await bank.approve(bank.body(tomorrow));
    expect((await bank.lab.drive(bank.body(tomorrow))).value).toBe("paid, 3");
    expect([bank.requests, bank.paid]).toEqual([3, [1, 2]]);
  });

  test.each([
    ["another version", "2", tomorrow, undefined],
    ["an unknown one", undefined, tomorrow, undefined],
    ["onChange: block", "1", tomorrow, "block"],
    ["another difference beside it", "1", { ...tomorrow, temperature: 0.2 }, undefined],
    [
      "another message alone",
      "1",
      { system: "You pay bills. Today is 2026-11-18.", prompt: "Please pay." },
      undefined,
    ],
  ] as const)("%s blocks", async (_, version, edit, onChange) => {
    const bank = await parked(version === undefined ? undefined : "1");
    bank.lab.version = version;
    const { outcome } = await bank.lab.drive(bank.body(edit, onChange));
    expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    expect(bank.requests).toBe(1);
  });
});

test("in branches of ctx.parallel each agent is judged for itself", async () => {
  const bank = await Bank.open(latest, false);
  const both = (edit: Edit) => async (ctx: Context) => {
    await ctx.parallel({
      one: bank.body(edit, "keep"),
      two: bank.body({ ...edit, prompt: "Please pay hers." }, "keep"),
    });
    return "";
  };
  await bank.lab.drive(both({}));
  const { outcome } = await bank.lab.drive(both({ system: "You pay." }));
  expect(outcome).toMatchObject({ status: "suspended", waiting: [{}, {}] });
  expect(bank.requests).toBe(2);
});

test("what is recorded of a question does not grow with the conversation", async () => {
  const bank = await Bank.open(latest, false);
  const { ai } = latest;
  const messages = Array.from({ length: 200 }, (_, i) => ({
    role: i % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `secret words ${i}`,
  }));
  await bank.lab.drive(async (ctx) => {
    const server = await Provider.open(() => ({ text: "yes" }));
    open.push(server);
    const model = durableModel(ctx, latest.models.chat(server.url));
    await ai.generateText({ model, messages: [...messages, { role: "user" as const, content: "and?" }] });
  });
  const text = await bank.lab.text();
  expect(text).not.toContain("secret words");
  const [question = ""] = /"durableQuestion":\{.*?\}\}?/.exec(text) ?? [];
  expect(question.length).toBeGreaterThan(50);
  expect(question.length).toBeLessThan(400);
});

test("over a journal a changed prompt is a new call, and nothing of the question is recorded", async () => {
  const server = await Provider.open(({ number }) => ({ text: `said ${number}` }));
  open.push(server);
  const journal = await Journal.open("j", { storage: new MemoryStorage() });
  const model = durableModel(journal, latest.models.chat(server.url));
  for (const prompt of ["one", "two", "one"]) await latest.ai.generateText({ model, prompt });
  await latest.ai.streamText({ model, prompt: "three" }).text;
  expect(server.requests).toHaveLength(4);
  expect(JSON.stringify(journal.entries())).not.toContain("durableQuestion");
});
