/** When the server is killed, and what the user does around it. */

import { picture } from "./chromium.ts";
import type { Site } from "./site.ts";
import { questions, type Visitor } from "./visitor.ts";

export interface Instant {
  readonly name: string;
  readonly question: string;
  /** Runs in every `npm test`. */
  readonly sampled?: boolean;
  /** From the question on the page to its last kill; ends with a server that runs. */
  readonly play: (one: Visitor, site: Site) => Promise<void>;
}

const killAtWord =
  (...words: number[]) =>
  async (one: Visitor, site: Site): Promise<void> => {
    for (const word of words) {
      await one.words(word);
      await site.restart();
    }
  };

/** At the first words, while it thinks, while the tool runs, and while it answers from what the tool returned. */
const ofTool = [1, 5, 12, 20, 28, 31, 34, 45, 60, 80].map((words): Instant => ({
  name: `at word ${words} of an answer with a tool`,
  question: questions.harbour,
  play: async (one, site) => {
    await one.said(words);
    await site.restart();
  },
}));

const ofAnswer = [5, 20, 60, 75, 90].map((word): Instant => ({
  name: `at word ${word}`,
  question: questions.tides,
  play: killAtWord(word),
}));

/** The text, then the card with the e-mail as it is written. */
const ofApproval = [1, 5, 10, 16, 24].map((words): Instant => ({
  name: `at word ${words} of an answer that asks`,
  question: questions.mail,
  play: async (one, site) => {
    await one.said(words);
    await site.restart();
    await one.button("Allow").click();
  },
}));

/** Ten each of an answer, of a tool, and of an approval. */
export const instants: readonly Instant[] = [
  ...ofAnswer,
  ...ofTool,
  ...ofApproval,
  {
    name: "before the first word",
    question: questions.tides,
    play: async (one, site) => {
      await one.button("Stop").waitFor();
      await site.restart();
    },
  },
  { name: "at the first word", question: questions.tides, play: killAtWord(1) },
  { name: "in the middle of the answer", question: questions.tides, sampled: true, play: killAtWord(45) },
  {
    name: "near the end of the answer",
    question: questions.tides,
    play: killAtWord(100),
  },
  { name: "twice in one answer", question: questions.server, play: killAtWord(8, 40) },
  {
    name: "while the e-mail is written",
    question: questions.mail,
    play: async (one, site) => {
      await one.mail("");
      await site.restart();
      await one.button("Allow").click();
    },
  },
  {
    name: "while the question is open",
    question: questions.mail,
    play: async (one, site) => {
      await one.button("Allow").waitFor();
      await site.restart();
      await one.page.locator(".status.waits").waitFor();
      await one.button("Allow").click();
    },
  },
  {
    name: "before the user answers, who answers while there is no server",
    question: questions.mail,
    play: async (one, site) => {
      await one.button("Allow").waitFor();
      await site.kill();
      await one.page.locator(".status.lost").waitFor();
      await picture(one.page, "lost");
      await one.button("Allow").click();
      await one.page.getByText("Sending your answer").waitFor();
      await site.start();
    },
  },
  {
    name: "when the user has just answered",
    question: questions.mail,
    play: async (one, site) => {
      await one.button("Allow").click();
      await site.restart();
    },
  },
  {
    name: "after the e-mail was sent",
    question: questions.mail,
    play: async (one, site) => {
      await one.button("Allow").click();
      await one.mail("Sent");
      await site.restart();
    },
  },
];
