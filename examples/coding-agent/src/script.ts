/**
 * The script of the offline model. Its first plan has three approaches, each with a different bug. With the
 * failures in the prompt, it plans two more, one of which is correct. The code is in the folder `solutions`,
 * as text.
 */

import { readFileSync } from "node:fs";
import { questionOf, type Script } from "example-llm";
import type { Approach } from "./plan.ts";

const first: readonly Approach[] = [
  { name: "sort", idea: "Collect the pages in a set, and sort it at the end." },
  { name: "scan", idea: "Read the text letter by letter, with a place that moves on." },
  { name: "expand", idea: "Write every range out in full, then drop what is not there." },
];

const second: readonly Approach[] = [
  { name: "mark", idea: "Mark pages in a list as long as the document: no range can be too long for it." },
  { name: "clamp", idea: "Put the ends of each range in order and within the document, then count." },
];

export const script: Script = (prompt) => {
  const question = questionOf(prompt);
  if (question.startsWith("Plan ")) {
    const approaches = question.includes("What went wrong so far") ? second : first;
    return { text: JSON.stringify({ approaches }) };
  }
  const [, name = ""] = /^Approach: ([a-z]+):/m.exec(question) ?? [];
  if (![...first, ...second].some((approach) => approach.name === name))
    throw new Error(`The script has no code for: ${name}`);
  return { text: `\`\`\`js\n${solution(name)}\`\`\`` };
};

export function solution(name: string): string {
  return readFileSync(new URL(`../solutions/${name}.txt`, import.meta.url), "utf8");
}
