/** What a person does in the page and sees there. Waits for what appears, and never for a time. */

import type { BrowserContext, Locator, Page } from "playwright-core";
import { scriptOf } from "../../src/script.ts";

export const questions = {
  tides: "Why are there two tides a day?",
  server: "What happens if the server dies now?",
  harbour: "When is high water tomorrow in Cuxhaven?",
  mail: "Send an e-mail to the harbour about tomorrow's tide.",
};

export class Visitor {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Opens a chat in a tab. A page that is loaded again by hand is recognized by its missing mark. */
  static async open(context: BrowserContext, url: string, chat: string): Promise<Visitor> {
    const page = await context.newPage();
    await page.goto(`${url}/?chat=${chat}`);
    await page.evaluate(() => void (document.title = "opened once"));
    return new Visitor(page);
  }

  async ask(text: string): Promise<void> {
    await this.page.getByLabel("Your message").fill(text);
    await this.page.locator(".composer .primary:enabled").waitFor();
    await this.page.keyboard.press("Enter");
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  get answers(): Locator {
    return this.page.locator(".message.assistant");
  }

  /** Settles when nothing is under way, and the conversation ends with an answer. */
  async done(): Promise<void> {
    await this.button("Answer again").waitFor();
    await this.page.locator(".status.ready").waitFor();
  }

  /** Notes how the text of the conversation grows; `lengths` has what was seen. */
  async watch(): Promise<void> {
    await this.page.evaluate(() => {
      const seen = new Set<number>();
      const note = (): void => {
        const { length } = document.querySelector(".message.assistant")?.textContent ?? "";
        document.body.dataset["lengths"] = String(seen.add(length).size);
      };
      new MutationObserver(note).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
      });
    });
  }

  async lengths(): Promise<number> {
    return this.page.evaluate(() => Number(document.body.dataset["lengths"]));
  }

  /** Stops the answer at this word. The page itself does so, because a click from here might come too late. */
  async stopAt(word: number): Promise<void> {
    await this.page.evaluate(
      (most) =>
        new Promise<void>((resolve) => {
          const look = (): void => {
            const text = document.querySelector(".message.assistant > .text")?.textContent ?? "";
            if (text.split(/\s+/).length <= most) return;
            watcher.disconnect();
            document.querySelector<HTMLButtonElement>(".composer .stop")?.click();
            resolve();
          };
          const watcher = new MutationObserver(look);
          watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
        }),
      word,
    );
  }

  /** Settles when the e-mail of the last answer is in this state; "" is any state. */
  async mail(state: string): Promise<void> {
    await this.page.locator(".mail .st", { hasText: state }).last().waitFor();
  }

  /** Settles when the last answer has this many words. */
  async words(count: number): Promise<void> {
    await this.page.waitForFunction(
      (most) => {
        const last = [...document.querySelectorAll(".message.assistant")].at(-1);
        const text = [...(last?.querySelectorAll(":scope > .text") ?? [])]
          .map((one) => one.textContent)
          .join(" ");
        return text.split(/\s+/).filter((word) => word !== "").length >= most;
      },
      count,
      { polling: 40 },
    );
  }

  /** Settles when the last answer has this many words, thoughts and cards included. */
  async said(count: number): Promise<void> {
    await this.page.waitForFunction(
      (most) => {
        const last = [...document.querySelectorAll(".message.assistant")].at(-1);
        return (last?.textContent ?? "").split(/\s+/).length > most;
      },
      count,
      { polling: 40 },
    );
  }

  /** True if the button is above the composer, without scrolling. */
  async isInView(name: string): Promise<boolean> {
    const [box, footer] = await Promise.all([
      this.button(name).boundingBox(),
      this.page.locator("footer").boundingBox(),
    ]);
    return box !== null && footer !== null && box.y >= 0 && box.y + box.height <= footer.y;
  }

  /** The conversation as the page shows it: one text for each message. */
  async conversation(): Promise<string[]> {
    return this.page.locator(".message").evaluateAll((messages) =>
      messages.map((message) =>
        [...message.querySelectorAll(":scope > .text, :scope > .bubble, :scope > .mail .st")]
          .map((one) =>
            (one.matches(".text") ? [...one.children] : [one]).map(({ textContent }) => textContent),
          )
          .map((blocks) => blocks.join("\n\n"))
          .join("\n"),
      ),
    );
  }

  /** How many of each kind the last answer has. */
  async parts(): Promise<Record<string, number>> {
    return this.answers.last().evaluate((answer) => {
      const kinds = {
        thoughts: ".reasoning",
        tools: ".tool",
        tables: "table",
        rows: "tbody tr",
        code: ".code",
        sources: ".sources li",
      };
      const counted = Object.entries(kinds).map(([kind, path]) => [
        kind,
        answer.querySelectorAll(path).length,
      ]);
      return Object.fromEntries(counted) as Record<string, number>;
    });
  }

  /** True if the page was never loaded again. */
  async isSame(): Promise<boolean> {
    return (await this.page.title()) === "opened once";
  }
}

/** What the offline model answers to a question. */
export function answerTo(question: string, { usesOtherWords = false } = {}): string {
  const script = scriptOf({ usesOtherWords });
  return script([{ role: "user", content: [{ type: "text", text: question }] }]).text ?? "";
}
