/** One turn of the model, through the AI SDK. */

import { scriptedModel as kitModel } from "@durable/testing";
import { scriptedModel } from "example-llm";
import type { ModelMessage } from "ai";
import { describe, expect, test } from "vitest";
import { propose, type Proposal } from "../src/plan.ts";
import { scriptFor } from "../src/script.ts";
import { releases } from "./support/desk.ts";

const info = { signal: new AbortController().signal, meter: () => {} };

/** What a model's answer becomes. */
function proposed(answer: unknown): Promise<Proposal> {
  const model = kitModel([JSON.stringify(answer)]);
  return propose({ model, releases, messages: [{ role: "user", content: "x" }] }, info);
}

const answer = { message: "I would.", version: "1.1.0", environment: "staging", risks: ["rain"] };

describe("what a model says", () => {
  test("is a plan if it names what there is", async () => {
    expect(await proposed(answer)).toMatchObject({
      message: "I would.",
      plan: { version: "1.1.0", environment: "staging" },
      risks: ["rain"],
    });
  });

  test.each([
    [{ version: "9.9.9" }, "There is no release 9.9.9. There are 1.0.0, 1.1.0, 2.0.0."],
    [{ version: "../../etc" }, "There is no release ../../etc."],
    [{ environment: "prod" }, "There is no environment prod."],
    [{ environment: "preview-../.." }, "There is no environment preview-../..."],
    [{ version: null }, "I would."],
    [{ environment: null }, "I would."],
  ])("is not a plan with %o", async (given, message) => {
    const proposal = await proposed({ ...answer, ...given });
    expect(proposal.plan).toBeNull();
    expect(proposal.message).toContain(message);
  });

  test("is a failed attempt if it has another shape", async () => {
    await expect(proposed({ text: "sure" })).rejects.toThrow("No object generated");
    await expect(proposed("sure")).rejects.toThrow("No object generated");
  });

  test("is kept short", async () => {
    const { message, risks } = await proposed({
      ...answer,
      message: "x".repeat(9_000),
      risks: Array(9).fill("y".repeat(900)),
    });
    expect([message.length, risks.length, risks[0]?.length]).toEqual([2_000, 3, 200]);
  });
});

describe("the offline model", () => {
  const says = async (...said: string[]): Promise<Proposal> => {
    const messages = said.flatMap((content, at): ModelMessage[] =>
      at === 0
        ? [{ role: "user", content }]
        : [
            { role: "assistant", content: "{}" },
            { role: "user", content },
          ],
    );
    return propose({ model: scriptedModel(scriptFor(releases), { pace: 0 }), releases, messages }, info);
  };

  test.each([
    [["put 1.1.0 on production"], "1.1.0 production"],
    [["1.1.0 please"], "1.1.0 staging"],
    [["the latest one on Preview-Blue"], "2.0.0 preview-blue"],
    [["2.0.0 on production", "1.0.0 rather"], "1.0.0 production"],
    [["2.0.0", "no, staging", "production then"], "2.0.0 production"],
    [["deploy something"], "1.1.0 staging"],
    [["deploy 3.1.4"], null],
    [[""], "1.1.0 staging"],
  ])("%o: %s", async (said, plan) => {
    const proposal = await says(...said);
    expect(proposal.plan && `${proposal.plan.version} ${proposal.plan.environment}`).toBe(plan);
  });
});
