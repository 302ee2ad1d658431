/** The words of the playground's editor are those of the declarations. */
import { expect, test } from "vitest";
import { editorWords } from "../lib/site-words.ts";

const { modules, types, calls } = editorWords();

const labels = (type: string | null | undefined): string[] =>
  (types[type ?? ""] ?? []).map(({ label }) => label);

test("a program can import what core exports, and what the playground has", () => {
  const core = (modules["@durable/core"] ?? []).map(({ label }) => label);
  expect(core).toEqual(expect.arrayContaining(["durable", "FatalError", "RetryError", "StepInfo"]));
  expect(core).not.toContain("RemoteStorage");
  expect(modules["@durable/core"]?.find(({ label }) => label === "durable")?.info).toMatch(
    /^Defines a workflow/,
  );
  expect(modules["playground"]?.map(({ label }) => label)).toEqual(["ask", "call"]);
});

test("ctx and info have the members of their types, with comments", () => {
  expect(labels("Context")).toEqual(expect.arrayContaining(["step", "suspend", "parallel", "race", "sleep"]));
  expect(labels("StepInfo")).toContain("idempotencyKey");
  expect(types["Context"]?.find(({ label }) => label === "step")?.info).toMatch(/records its outcome/);
});

test("calls know their options, of all overloads, without those that a type leaves out", () => {
  const step = labels(calls["ctx.step"]?.[2]);
  expect(step).toEqual(expect.arrayContaining(["retry", "timeout", "compensate", "schema"]));
  expect(step).not.toContain("byContent");
  expect(labels(calls["ctx.suspend"]?.[1])).toEqual(["timeout", "note", "was", "schema", "fallback"]);
  expect(labels(calls["durable"]?.[2])).toEqual(expect.arrayContaining(["input", "version", "retry"]));
  expect(labels(calls["RetryError"]?.[1])).toContain("after");
  expect(labels(calls["ask"]?.[2])).toEqual(["model", "slowness"]);
});

test("an option that is an object has options of its own", () => {
  const retry = types[calls["ctx.step"]?.[2] ?? ""]?.find(({ label }) => label === "retry");
  expect(labels(retry?.of)).toEqual(expect.arrayContaining(["attempts", "delay", "factor"]));
  for (const word of Object.values(types).flat())
    if (word.of !== undefined) expect(types).toHaveProperty([word.of]);
});
