import { describe, expect, test } from "vitest";
import { scriptOf } from "../src/script.ts";
import { answerTo, questions } from "./support/visitor.ts";

type Prompt = Parameters<ReturnType<typeof scriptOf>>[0];

const user = (text: string): Prompt[number] => ({ role: "user", content: [{ type: "text", text }] });
const result = (status: string): Prompt[number] => ({
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId: "call-1",
      toolName: "sendEmail",
      output: { type: "json", value: { status } },
    },
  ],
});

describe("the offline model", () => {
  const script = scriptOf();

  test("has two answers to every question", () => {
    for (const question of [questions.tides, questions.server, "Who are you?"]) {
      const answers = [answerTo(question), answerTo(question, { usesOtherWords: true })];
      expect(new Set(answers).size).toBe(2);
    }
  });

  test("answers the last question", () => {
    expect(script([user(questions.mail), result("sent"), user(questions.tides)]).text).toBe(
      answerTo(questions.tides),
    );
  });

  test("writes to the address in the question, and reports the decision", () => {
    const ask = user("Write an e-mail to crew@example.org.");
    expect(script([ask]).calls).toEqual([
      { tool: "sendEmail", input: expect.objectContaining({ to: "crew@example.org" }) as unknown },
    ]);
    expect(script([ask, result("sent")]).text).toContain("to crew@example.org is sent");
    expect(script([ask, result("denied")]).text).toContain("did not send");
    // The decision about an earlier e-mail does not count.
    expect(script([ask, result("sent"), ask]).calls).toHaveLength(1);
  });
});
