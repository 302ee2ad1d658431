/**
 * The page in a real browser: what a user does with it; and a server that is killed in between and started
 * again. The page then continues by itself, and ends with one right answer. A call of the model that was
 * interrupted is made again, and gets other words: no word of the first answer may be left. Some of it here, all of
 * it in `npm run test:full`. The page is built by the first server that starts.
 */

import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { hasChromium, missing, openBrowser, openUser, picture } from "./support/chromium.ts";
import { instants } from "./support/instants.ts";
import { Site } from "./support/site.ts";
import { answerTo, questions, Visitor } from "./support/visitor.ts";

if (!hasChromium) process.stderr.write(missing);

/** Generous, because a busy machine takes several times as long as an idle one. */
const soon = { timeout: 60_000 };
const site = new Site(0.3);
let browser: Browser;
let user: BrowserContext;
let number = 0;
let chat = "";

describe.skipIf(!hasChromium)("the page", () => {
  beforeAll(async () => {
    [browser] = await Promise.all([openBrowser(), site.start()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site.end();
  });
  beforeEach(async () => {
    user = await openUser(browser);
    chat = `chat-${++number}`;
  });
  afterEach(() => user.close());

  const isFull = inject("full");

  // Below, a server is killed while an answer is written, and the answer is opened again.
  test.runIf(isFull)("shows an answer while it is written", async () => {
    const one = await Visitor.open(user, site.url, chat);
    await picture(one.page, "welcome");
    await one.watch();
    await one.ask(questions.tides);
    await one.words(5);
    await picture(one.page, "writing");
    await one.done();
    // Not all at once.
    expect(await one.lengths()).toBeGreaterThan(3);
    expect(await one.conversation()).toEqual([questions.tides, answerTo(questions.tides)]);

    // Opened again, the page gets all of it from the journal.
    await one.page.reload();
    await one.done();
    expect(await one.conversation()).toEqual([questions.tides, answerTo(questions.tides)]);
  });

  test.runIf(isFull)("asks before an e-mail is sent, and sends it once", async () => {
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(questions.mail);
    await one.button("Allow").waitFor();
    await one.page.locator(".status.waits").waitFor();
    expect(site.mails()).toEqual([]);
    await picture(one.page, "question");
    await one.button("Allow").click();
    await one.done();
    await picture(one.page, "sent");
    expect(await one.conversation()).toEqual([questions.mail, expect.stringContaining("Sent\nDone.")]);
    expect(site.mails()).toEqual([expect.stringContaining("To: harbour@example.org\nSubject: High water")]);
    expect(site.calls()).toBe(1);
  });

  test.runIf(isFull)("sends nothing that was denied", async () => {
    const before = site.mails().length;
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(questions.mail);
    await one.button("Deny").click();
    await one.done();
    expect(await one.conversation()).toEqual([
      questions.mail,
      expect.stringContaining("Not sent\nI did not"),
    ]);
    expect(site.mails()).toHaveLength(before);
  });

  test.runIf(isFull)("answers an edited message anew", async () => {
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(questions.tides);
    await one.done();
    await one.button("Edit").click();
    await one.page.getByLabel("Edit your message").fill(questions.server);
    await picture(one.page, "edit");
    await one.page.keyboard.press("Enter");
    await one.page.getByText("Every word that you see was written to a journal").waitFor();
    await one.done();
    expect(await one.conversation()).toEqual([questions.server, answerTo(questions.server)]);
  });

  test.runIf(isFull)("answers again in other words", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await user.route("**/stream", async (route) => {
      await released;
      await route.continue();
    });
    const one = await Visitor.open(user, site.url, chat);
    // A message that is sent before the page knows what the server has would get its answer twice.
    await one.page.getByLabel("Your message").fill(questions.tides);
    await one.page.keyboard.press("Enter");
    expect(await one.button("Send").isDisabled()).toBe(true);
    release();
    await one.ask(questions.tides);
    await one.button("Answer again").click();
    await one.page.getByText("Think of the Earth").waitFor();
    await one.done();
    expect(await one.conversation()).toEqual([
      questions.tides,
      answerTo(questions.tides, { usesOtherWords: true }),
    ]);
  });

  test.runIf(isFull)("stops, and can be asked again", async () => {
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(questions.tides);
    await one.stopAt(3);
    await one.page.getByText("Stopped.").waitFor();
    const [, stopped = ""] = await one.conversation();
    expect(answerTo(questions.tides)).toContain(stopped.trim());
    expect(stopped.length).toBeLessThan(answerTo(questions.tides).length);
    await one.page.locator(".foot .mark").waitFor();
    await picture(one.page, "stopped");
    await one.ask(questions.server);
    await one.page.getByText("this answer is slow enough").waitFor();
    await one.done();
    expect(await one.conversation()).toEqual([
      questions.tides,
      stopped,
      questions.server,
      answerTo(questions.server),
    ]);
  });

  test.runIf(isFull)("shows the running answer, and the question, in a second tab", async () => {
    const one = await Visitor.open(user, site.url, chat);
    const idle = await Visitor.open(user, site.url, chat);
    await one.ask(questions.tides);
    await one.words(3);
    const late = await Visitor.open(user, site.url, chat);
    for (const tab of [idle, late]) await tab.words(4);
    for (const tab of [one, idle, late]) {
      await tab.button("Answer again").waitFor();
      await tab.done();
      expect(await tab.conversation()).toEqual([questions.tides, answerTo(questions.tides)]);
    }
    // Asked in one tab, answered in another.
    const before = site.mails().length;
    await idle.ask(questions.mail);
    await late.button("Allow").waitFor();
    await expect.poll(() => late.isInView("Allow"), soon).toBe(true);
    await late.button("Allow").click();
    for (const tab of [one, idle, late]) {
      await tab.page.getByText("it was sent exactly once").waitFor();
      await tab.done();
      expect(await tab.conversation()).toHaveLength(4);
    }
    expect(site.mails()).toHaveLength(before + 1);
  });

  test.runIf(isFull)(
    "shows thoughts, tools, tables, code and sources; costs, thumbs and other answers are kept",
    async () => {
      const one = await Visitor.open(user, site.url, chat);
      await one.ask(questions.harbour);
      await one.page.locator(".reasoning p").waitFor();
      await one.done();
      expect(await one.parts()).toEqual(harbourParts);
      await one.page.locator(".tool summary").click();
      await one.page.getByText('"harbour": "Cuxhaven"').first().waitFor();
      await one.page.getByText(/^\d+ in, \d+ out · \$0\.\d+$/).waitFor();
      await one.button("Good answer").click();
      await one.page.locator('[aria-pressed="true"]').waitFor();
      expect(await site.scores()).toEqual([{ thumb: 1 }]);
      await one.button("Answer again").click();
      await one.page.getByText("2 of 2").waitFor();
      await one.done();
      await picture(one.page, "parts");
      // Another tab, and a server that has just begun, know the same.
      await site.restart();
      const late = await Visitor.open(user, site.url, chat);
      await late.done();
      expect(await late.parts()).toEqual(harbourParts);
      expect(await late.page.locator('[aria-pressed="true"]').count()).toBe(0);
      await late.button("Previous answer").click();
      await late.page.locator('[aria-pressed="true"]').waitFor();
      await late.page.locator(".cost").waitFor();
    },
  );

  test.runIf(isFull)("shows files, the list of chats, and deletes one", async () => {
    const one = await Visitor.open(user, site.url, chat);
    const png = Buffer.from(onePixel, "base64");
    await one.page
      .getByLabel("Attach files")
      .setInputFiles({ name: "beach.png", mimeType: "image/png", buffer: png });
    await one.ask("What is this?");
    await one.page.getByText("I see beach.png").waitFor();
    await one.done();
    expect(await one.page.locator(".user img[alt='beach.png']").count()).toBe(1);
    const list = one.page.getByRole("navigation", { name: "Chats" });
    await list.locator(".current", { hasText: "What is this?" }).waitFor();
    await one.button("New chat").click();
    await one.page.getByText("Ask something").first().waitFor();
    await one.ask(questions.tides);
    await list.locator(".current", { hasText: questions.tides }).waitFor();
    await one.done();
    await picture(one.page, "list");
    await list.getByRole("button", { name: "What is this?", exact: true }).click();
    await one.page.getByText("I see beach.png").waitFor();
    await one.done();
    await one.button("Delete What is this?").click();
    await one.button("Delete What is this? for ever").click();
    await one.page.getByText("Ask something").first().waitFor();
    await expect.poll(() => list.getByText("What is this?").count(), soon).toBe(0);
    const late = await Visitor.open(user, site.url, chat);
    await late.page.getByRole("heading", { name: "Ask something" }).waitFor();
  });

  test.runIf(isFull)(
    "an answer hears what is said while it is written, in another tab and over a kill",
    async () => {
      const one = await Visitor.open(user, site.url, chat);
      await one.ask(questions.tides);
      await one.words(5);
      await one.ask(questions.server);
      await one.page.locator(".steered").waitFor();
      await site.restart();
      await one.done();
      await heard(one, await Visitor.open(user, site.url, chat));
      expect(await one.isSame(), "the page was not loaded again").toBe(true);
      await picture(one.page, "steered");
    },
  );

  test.runIf(isFull)("what is said while the server dies is said again, and heard once", async () => {
    let tries = 0;
    await user.route("**/messages/steer", async (route) => {
      tries += 1;
      // The server dies before it has it; the next one has it, and its response is lost.
      if (tries === 1) await site.restart();
      if (tries === 2) await route.fetch();
      await (tries > 2 ? route.continue() : route.abort());
    });
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(questions.tides);
    await one.words(5);
    await one.ask(questions.server);
    await one.done();
    await heard(one, await Visitor.open(user, site.url, chat));
    expect(tries).toBe(3);
  });

  const chosen = instants.filter(({ sampled }) => isFull || sampled === true);
  test.for(chosen)("continues when the server is killed $name", async ({ question, play }) => {
    const before = site.mails().length;
    const one = await Visitor.open(user, site.url, chat);
    await one.ask(question);
    await play(one, site);
    await one.done();
    const isMail = question === questions.mail;
    // The model is ahead of the page. If it had ended its answer, that answer is kept.
    const right = isMail
      ? [mailed]
      : question === questions.harbour
        ? [expect.stringContaining("Let me look that up.\nHere are the tides of Cuxhaven:") as string]
        : [false, true].map((other) => answerTo(question, { usesOtherWords: other }));
    const [asked, answer, ...rest] = await one.conversation();
    expect([asked, ...rest]).toEqual([question]);
    expect(right).toContainEqual(answer);
    if (question === questions.harbour) expect(await one.parts()).toEqual(harbourParts);
    expect(await one.isSame(), "the page was not loaded again").toBe(true);
    expect(site.mails()).toHaveLength(before + (isMail ? 1 : 0));
    // A page that is opened now finds the same.
    const late = await Visitor.open(user, site.url, chat);
    await late.done();
    expect(await late.conversation()).toEqual([question, answer]);
  });
});

/** Both tabs end with one answer, which has heard what was said to it. */
async function heard(...tabs: readonly Visitor[]): Promise<void> {
  for (const tab of tabs) {
    await tab.done();
    const [asked, answer = "", ...rest] = await tab.conversation();
    expect([asked, ...rest]).toEqual([questions.tides]);
    expect(answer.split(`\n${questions.server}\n`)).toHaveLength(2);
    // Each of both texts once, in the words of one life.
    for (const question of [questions.tides, questions.server]) {
      const texts = [false, true].map((usesOtherWords) => answerTo(question, { usesOtherWords }));
      expect(texts.filter((text) => answer.includes(text))).toHaveLength(1);
    }
  }
}

const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Nothing twice, and nothing missing. */
const harbourParts = { thoughts: 1, tools: 1, tables: 1, rows: 2, code: 1, sources: 2 };

const mailed = [
  "Here is the e-mail. It leaves only if you allow it.",
  "Sent",
  "Done. The e-mail to harbour@example.org is sent, and it was sent exactly once.",
].join("\n");
