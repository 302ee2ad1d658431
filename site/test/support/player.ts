/** A person at the playground: presses its buttons, and reads what it shows. */
import type { Locator, Page } from "../../../packages/dashboard/test/support/chromium.ts";

export class Player {
  readonly page: Page;
  /** What the calls said that were answered by hand. */
  readonly asked: string[] = [];

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
    this.asked.push((await first.locator(".pg-value").textContent()) ?? "");
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

  /** Answers the wait of the run. */
  async answer(): Promise<void> {
    await this.press("Answer");
    await this.page.locator("[data-wait]").waitFor({ state: "detached" });
  }

  /** Goes on to the end, and answers what is asked. */
  async toTheEnd(): Promise<string> {
    for (;;) {
      const state = await this.finish();
      if (state !== "waiting") return state;
      await this.answer();
    }
  }

  /** Goes on until so many calls were answered, also behind a wait. Gives `call`, or the state of a run that has ended. */
  async afterReplies(answered: number): Promise<string> {
    let state = await this.next();
    for (let n = 0; n < answered && state === "call"; n++) {
      await this.reply();
      state = await this.next();
      if (state !== "waiting") continue;
      await this.answer();
      state = await this.next();
    }
    return state;
  }

  /** Calls that have left the program, in all runs. */
  async calls(): Promise<number> {
    return (await this.count("Model calls")) + (await this.count("Service calls"));
  }

  /** The keys of outputs that can be forked and edited. */
  outputs(): Promise<string[]> {
    return this.page
      .locator(".pg-entry:has(.pg-actions)")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-key") ?? ""));
  }

  /** Shows another run of the tree. */
  async select(run: string): Promise<void> {
    const choice = this.page.locator(".pg-run", { has: this.page.getByText(run, { exact: true }) });
    await choice.click();
    await this.page.getByLabel(`Journal of ${run}`, { exact: true }).waitFor();
  }

  /** Forks with another output of a step. */
  async edit(key: string, json: string): Promise<void> {
    await this.press(`Edit this output: ${key}`);
    await this.page.getByLabel(`Another output of ${key}, as JSON`).fill(json);
    await this.press("Fork with this");
  }

  /** Replaces the text in the editor. */
  async write(change: (code: string) => string): Promise<void> {
    const content = this.page.locator(".pg .cm-content");
    const code = await content.evaluate((element) =>
      [...element.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"),
    );
    await content.click();
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.keyboard.insertText(change(code));
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
