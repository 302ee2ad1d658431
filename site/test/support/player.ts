/** A person at the playground: presses its buttons, and reads what it shows. */
import type { Locator, Page } from "../../../packages/dashboard/test/support/chromium.ts";

export class Player {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Opens a playground, with a model that answers when it is told to. */
  static async open(page: Page, url: string, byHand = true): Promise<Player> {
    const player = new Player(page);
    await page.goto(url);
    await player.ready();
    if (byHand) await page.locator(".pg").getByLabel("Answers").selectOption("by hand");
    return player;
  }

  async ready(): Promise<void> {
    await this.page.locator(".pg .cm-content").waitFor();
    await this.button("Run").waitFor();
    await this.page.waitForFunction(() => {
      const run = [...document.querySelectorAll<HTMLButtonElement>(".pg-bar button")].find(
        (one) => one.textContent === "Run",
      );
      return run?.disabled === false;
    });
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  async press(name: string): Promise<void> {
    await this.button(name).click();
  }

  async crash(): Promise<void> {
    await this.press("Crash");
    await this.page.getByText("Crashed: the worker was terminated").waitFor();
  }

  /** The keys of calls that wait for an answer. */
  async open(): Promise<string[]> {
    return this.page
      .locator("[data-attempt]:has(.pg-small)")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-attempt") ?? ""));
  }

  /** Waits until a call waits for its answer, or the run has stopped; gives the state of the run, or `call`. */
  async next(): Promise<string> {
    const found = await this.page.waitForFunction(() => {
      if (document.querySelector("[data-attempt] .pg-small") !== null) return "call";
      const state = document.querySelector("[data-state]");
      return state?.getAttribute("data-busy") === "false" ? state.getAttribute("data-state") : null;
    });
    return (await found.jsonValue()) ?? "";
  }

  /** Lets the first open call be answered, and waits until it was. */
  async reply(): Promise<void> {
    const first = this.page.locator("[data-attempt]:has(.pg-small)").first();
    const key = (await first.getAttribute("data-attempt")) ?? "";
    await first.locator(".pg-small").click();
    await this.page.locator(`[data-attempt="${key}"] .pg-small`).waitFor({ state: "detached" });
  }

  /** Goes on to the end, or to a wait. Gives the state there. */
  async finish(): Promise<string> {
    for (;;) {
      const state = await this.next();
      if (state !== "call") return state;
      await this.reply();
    }
  }

  async count(name: "Model calls" | "Service calls" | "From the journal"): Promise<number> {
    return Number(await this.page.locator(`[data-count="${name}"] dd`).first().textContent());
  }

  /** Kinds and keys of the entries, in order. */
  entries(): Promise<string[]> {
    return this.page
      .locator(".pg-entries > [data-kind]")
      .evaluateAll((all) =>
        all.map((one) => `${one.getAttribute("data-kind")} ${one.getAttribute("data-key") ?? ""}`.trim()),
      );
  }

  async said(): Promise<string> {
    return (await this.page.locator(".pg-journal").textContent()) ?? "";
  }
}
