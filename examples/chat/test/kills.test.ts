/**
 * The server is killed while the page is open, and started again. The page continues by itself, and ends with
 * one right answer. A call of the model that was interrupted is made again, and gets other words: no word of
 * the first answer may be left. Three instants here; all of them in `npm run test:full`.
 */

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { hasChromium, openBrowser, openUser, picture } from "./support/chromium.ts";
import { Site } from "./support/site.ts";
import { answerTo, questions, Visitor } from "./support/visitor.ts";

interface Instant {
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
      await site.restart("other");
    }
  };

const instants: Instant[] = [
  {
    name: "before the first word",
    question: questions.tides,
    play: async (one, site) => {
      await one.button("Stop").waitFor();
      await site.restart("other");
    },
  },
  { name: "at the first word", question: questions.tides, play: killAtWord(1) },
  { name: "in the middle of the answer", question: questions.tides, sampled: true, play: killAtWord(45) },
  { name: "near the end of the answer", question: questions.tides, play: killAtWord(100) },
  { name: "twice in one answer", question: questions.server, play: killAtWord(8, 40) },
  {
    name: "while the e-mail is written",
    question: questions.mail,
    play: async (one, site) => {
      await one.mail("Writing");
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
    sampled: true,
    play: async (one, site) => {
      await one.button("Allow").waitFor();
      await site.kill();
      await one.page.locator(".status.lost").waitFor();
      await picture(one.page, "lost");
      await one.button("Allow").click();
      await one.page.getByText("The server is told").waitFor();
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
    sampled: true,
    play: async (one, site) => {
      await one.button("Allow").click();
      await one.mail("Sent");
      await site.restart();
    },
  },
];

describe.skipIf(!hasChromium)("a killed server", () => {
  let browser: Browser;
  const site = new Site(0.3);

  let number = 0;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await site.end();
  });
  beforeEach(() => site.restart());

  const chosen = instants.filter(({ sampled }) => inject("full") || sampled === true);
  test.for(chosen)("$name", async ({ question, play }) => {
    const user = await openUser(browser);
    try {
      const chat = `chat-${++number}`;
      const before = site.mails().length;
      const one = await Visitor.open(user, site.url, chat);
      await one.ask(question);
      await play(one, site);
      await one.done();
      const isMail = question === questions.mail;
      const answer = isMail ? mailed : answerTo(question, { usesOtherWords: true });
      expect(await one.conversation()).toEqual([question, answer]);
      expect(await one.isSame(), "the page was not loaded again").toBe(true);
      expect(site.mails()).toHaveLength(before + (isMail ? 1 : 0));
      // A page that is opened now finds the same.
      const late = await Visitor.open(user, site.url, chat);
      await late.done();
      expect(await late.conversation()).toEqual([question, answer]);
    } finally {
      await user.close();
    }
  });
});

const mailed = [
  "Here is the e-mail. It leaves only if you allow it.",
  "Sent",
  "Done. The e-mail to harbour@example.org is sent, and it was sent exactly once.",
].join("\n");
