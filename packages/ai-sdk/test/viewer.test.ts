import type { StreamEvent } from "@durable/core";
import { expect, test } from "vitest";
import { chatStream } from "../src/chat/index.ts";
import { partsFor, type OnReset } from "../src/chat/viewer.ts";
import { partsOf, type Part, type PartChunk } from "../src/chunks.ts";
import { Lab } from "./support/lab.ts";

const step = { type: "start-step" };
const word = (delta: string): Part => ({ type: "text-delta", id: "0", delta });
const reset = { type: "reset-step" };

/** Attempts as a reader sees them, and what a viewer is sent of them. */
async function sent(attempts: readonly (readonly Part[])[], onReset: OnReset = "reset-step") {
  const events = attempts.flatMap((parts, i): StreamEvent<PartChunk>[] => [
    ...(i === 0 ? [] : [{ type: "reset", attempt: i + 1 } as const]),
    ...parts.map((part, index) => ({ type: "chunk", attempt: i + 1, index, value: [0, part] }) as const),
  ]);
  const viewer = partsFor(
    (async function* () {
      yield* events;
    })(),
    { onReset },
  );
  const parts: Part[] = [];
  for (;;) {
    const { done, value } = await viewer.next();
    if (done === true) return { parts, whole: value };
    parts.push(value.part);
  }
}

const begun = [{ type: "start" }, step, word("a")];

test("what comes again is not sent again", async () => {
  const all = [...begun, word("b"), { type: "finish" }];
  expect(await sent([begun, all])).toEqual({ parts: all, whole: true });
  expect(await sent([begun, begun.slice(0, 1), all])).toEqual({ parts: all, whole: true });
});

test("at the first difference the step is taken back, and sent as it is now", async () => {
  const other = [{ type: "start" }, step, { type: "text-start" }, word("c"), { type: "finish" }];
  expect(await sent([begun, other])).toEqual({
    parts: [...begun, reset, { type: "text-start" }, word("c"), { type: "finish" }],
    whole: true,
  });
  // Only the last step: those before it are equal.
  const [first, second] = [
    [...begun, step, word("x"), word("y")],
    [...begun, step, word("x"), word("z")],
  ];
  expect((await sent([first, second])).parts).toEqual([...first, reset, word("x"), word("z")]);
});

test("a viewer who cannot be put right comes back for all of it", async () => {
  const other = [{ type: "start" }, step, word("c")];
  expect(await sent([begun, other], "close")).toEqual({ parts: begun, whole: false });
  // The viewer has seen a step after the difference.
  const ahead = [...begun, step, word("d")];
  expect(await sent([ahead, other])).toEqual({ parts: ahead, whole: false });
  // Nothing to take back: it lies before the first step.
  expect((await sent([begun, [{ type: "start", messageId: "m" }]])).whole).toBe(false);
  // It ended where it had gone on before.
  expect((await sent([begun, begun.slice(0, 2)])).whole).toBe(false);
});

test("a UI stream that fails ends the chat stream with an error, and the workflow hears of it", async () => {
  const lab = new Lab();
  const parts = [{ type: "start" }, word("a")];
  const stream = (): ReadableStream<object> =>
    new ReadableStream({
      pull: (controller) => {
        const part = parts.shift();
        if (part === undefined) controller.error(new Error("no more"));
        else controller.enqueue(part);
      },
    });
  const { error } = await lab.drive((ctx) => chatStream(ctx, stream()));
  expect(String(error)).toContain("no more");
  const entries = await lab.entries();
  const chunks = entries.flatMap((entry) => (entry.kind === "stream.chunks" ? entry.chunks : []));
  expect(chunks.flatMap((chunk) => partsOf(chunk as PartChunk)).map(({ type }) => type)).toEqual([
    "start",
    "text-delta",
    "error",
  ]);
  expect(entries.some(({ kind }) => kind === "stream.completed")).toBe(true);
});
