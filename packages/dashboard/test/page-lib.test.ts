/** The parts of the page that need no browser. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { askApproval } from "@durable/core/clients";
import type { Plain } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";
import { toJSONSchema, z } from "zod";
import type { RunItem } from "../src/api.ts";
import { chatOf, chatOfChunks } from "../page/lib/chat.ts";
import { decisionOf, fieldOf, readForm, takesYesOrNo } from "../page/lib/form.ts";
import { clock, duration, fullTime, timeOfDay, zoneName } from "../page/lib/format.ts";
import { isUtc } from "../page/lib/kept.ts";
import { grouped } from "../page/lib/grouping.ts";
import { wordDiff } from "../page/lib/words.ts";

const formOf = (schema: z.ZodType) => fieldOf(toJSONSchema(schema, { io: "input" }) as never)!;

describe("a form from a schema", () => {
  const schema = z.object({
    approved: z.boolean(),
    audience: z.enum(["internal", "public"]),
    amount: z.number().int().min(1).max(500),
    note: z.string().max(5).optional(),
    tags: z.array(z.string()),
    address: z.object({ street: z.string().min(1) }).optional(),
    extra: z.record(z.string(), z.number()).nullable(),
  });
  const field = formOf(schema);

  test("has a field of the right kind for each property", () => {
    expect(field.fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ["approved", "boolean", true],
      ["audience", "choice", true],
      ["amount", "number", true],
      ["note", "text", false],
      ["tags", "lines", true],
      ["address", "group", false],
      ["extra", "json", false],
    ]);
  });

  test("gives a value that the schema accepts", () => {
    const typed = {
      ".approved": "true",
      ".audience": "1",
      ".amount": "12",
      ".tags": "a\nb\n",
      ".extra": '{"x":1}',
    };
    const read = readForm(field, typed);
    expect(read).toEqual({
      value: { approved: true, audience: "public", amount: 12, tags: ["a", "b"], extra: { x: 1 } },
    });
    expect(schema.safeParse((read as { value: unknown }).value).success).toBe(true);
  });

  test("says what is wrong, and where", () => {
    const typed = { ".address.street": "", ".amount": "0.5", ".note": "too long", ".extra": "{" };
    expect(readForm(field, typed)).toEqual({
      problems: {
        ".approved": "required",
        ".audience": "required",
        ".amount": "a whole number",
        ".note": "at most 5 characters",
        ".extra": expect.any(String) as string,
      },
    });
  });

  test("of a single value has one field; without a schema there is none", () => {
    expect(readForm(formOf(z.boolean()), { "": "false" })).toEqual({ value: false });
    expect(readForm(formOf(z.string()), {})).toEqual({ value: "" });
    expect(readForm(formOf(z.object({ a: z.number().nullable(), b: z.number().optional() })), {})).toEqual({
      value: { a: null },
    });
    expect(fieldOf(null)).toBeNull();
    expect(fieldOf(undefined)).toBeNull();
  });

  test("of the approval of a tool asks for yes or no, and for a reason", async () => {
    const flow = durable("agent", (ctx) =>
      askApproval(ctx, { tool: "pay", toolCallId: "1", input: { amount: 40 } }, {}),
    );
    const app = createApp({
      workflows: [flow],
      storage: new MemoryStorage(),
      secret: "of no worth in a test",
      bind: false,
    });
    const outcome = await app.run(flow, undefined, { id: "r" });
    const [wait] = outcome.status === "suspended" ? outcome.waiting : [];
    const schema = wait?.schema as Plain;
    const approval = fieldOf(schema)!;
    expect(takesYesOrNo(schema)).toBe(true);
    expect(decisionOf(approval)?.path).toBe(".approved");
    expect(readForm(approval, {})).toEqual({ problems: { ".approved": "required" } });
    const read = readForm(approval, { ".approved": "false", ".reason": "too dear" });
    expect(read).toEqual({ value: { approved: false, reason: "too dear" } });
    const answer = (read as { value: unknown }).value;
    expect(await app.resume(wait?.token ?? "", answer)).toMatchObject({ outcome: { output: answer } });
    // Another union stays a text in JSON.
    expect(formOf(z.union([z.boolean(), z.string()])).kind).toBe("json");
    expect(takesYesOrNo(toJSONSchema(z.object({ approved: z.boolean() })) as never)).toBe(false);
  });
});

describe("messages", () => {
  test("of the AI SDK, of a result, and of a stream", () => {
    const turn = {
      messages: [
        {
          role: "assistant",
          content: [
            { type: "text", text: "hi" },
            { type: "tool-call", toolName: "search", input: { q: 1 } },
          ],
        },
      ],
    };
    expect(chatOf(turn)).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "text", name: "", text: "hi" },
          { type: "call", name: "search", text: '{"q":1}' },
        ],
      },
    ]);
    expect(chatOf({ content: [{ type: "text", text: "hi" }], finishReason: "stop" })).toMatchObject([
      { role: "assistant" },
    ]);
    const chunks = [
      { type: "stream-start" },
      { type: "text-delta", id: "1", delta: "a" },
      { type: "text-delta", id: "1", delta: "b" },
    ];
    expect(chatOfChunks(chunks)).toEqual([
      { role: "assistant", parts: [{ type: "text", name: "", text: "ab", id: "1" }] },
    ]);
  });

  test("are not found in other values", () => {
    for (const value of [
      null,
      1,
      "text",
      [],
      {},
      [{ role: 1 }],
      { messages: [] },
      { content: "text" },
      { content: [1] },
    ])
      expect(chatOf(value as never)).toEqual([]);
  });
});

describe("the difference of texts", () => {
  const marked = (pieces: readonly { text: string; change: string }[]): string =>
    pieces.map(({ text, change }) => (change === "same" ? text : `[${text}]`)).join("");

  test("is by words", () => {
    const { before, after } = wordDiff("caused by the Moon.", "caused by the Moon and the Sun.");
    expect(marked(before)).toBe("caused by the Moon.");
    expect(marked(after)).toBe("caused by the Moon[ and the Sun].");
  });

  test("keeps both texts whole", () => {
    const texts = ["", "a", "a b c", "c b a", "x\ny z", "ä 😀 b", "a a a b"];
    for (const one of texts)
      for (const two of texts) {
        const { before, after } = wordDiff(one, two);
        expect(before.map(({ text }) => text).join("")).toBe(one);
        expect(after.map(({ text }) => text).join("")).toBe(two);
      }
  });
});

test("forks stand below their parents, and a group stands where its first run stands", () => {
  const item = (runId: string, parent: string | null = null): RunItem => ({ runId, parent }) as RunItem;
  const lines = grouped([
    item("fork2", "fork1"),
    item("other"),
    item("root"),
    item("fork1", "root"),
    item("far", "unknown"),
  ]);
  expect(lines.map(({ item: { runId }, depth }) => [runId, depth])).toEqual([
    ["root", 0],
    ["fork1", 1],
    ["fork2", 2],
    ["other", 0],
    ["far", 0],
  ]);
});

test("durations have at most two units", () => {
  expect([0, 0.4, 12, 1_500, 61_000, 3_600_000, 187_200_000].map(duration)).toEqual([
    "0 s",
    "0.4 ms",
    "12 ms",
    "1.5 s",
    "1 min 1 s",
    "1 h",
    "2 d 4 h",
  ]);
});

test("times are those of the reader, or all in UTC, and the full one names its zone", () => {
  const at = Date.parse("2026-11-16T13:23:46.007Z");
  const { timeZone } = new Intl.DateTimeFormat("en").resolvedOptions();
  const local = new Date(at).toLocaleString("sv-SE", { timeZone });
  expect(fullTime(at)).toBe(`${local} ${zoneName(at)}`);
  expect(timeOfDay(at)).toBe(`${local.slice(11)}.007`);
  expect(clock(at, at)).toBe(local.slice(11, 16));
  isUtc.value = true;
  expect(fullTime(at)).toBe("2026-11-16 13:23:46 UTC");
  expect(timeOfDay(at)).toBe("13:23:46.007");
  expect(clock(at, at + 86_400_000)).toBe("16 Nov 13:23");
  isUtc.value = false;
});
