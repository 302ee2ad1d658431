/** The questions, and the script of the offline model. */

import { questionOf, type Script } from "example-llm";

/** The program: three questions, each built on the answer before. */
export async function program(ask: (question: string) => Promise<string>): Promise<string[]> {
  const notes = await ask("Give three short reasons, one per line, why a small boat should carry an anchor.");
  const text = await ask(`Turn these notes into one plain paragraph of at most 60 words:\n${notes}`);
  const title = await ask(`Give this paragraph a title of at most six words:\n${text}`);
  return [notes, text, title];
}

export const script: Script = (prompt) => {
  const question = questionOf(prompt);
  if (question.startsWith("Give three")) {
    return {
      text: "It holds the boat when the engine stops.\nIt keeps her off the rocks.\nIt gives the crew time.",
    };
  }
  if (question.startsWith("Turn these")) {
    return {
      text: "An anchor is the brake of a boat. When the engine stops it holds her where she is, off the rocks, and gives the crew what they need most: time to think.",
    };
  }
  return { text: "Time, at the End of a Chain" };
};
