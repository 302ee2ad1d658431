/** Every screen and every action in a real browser, against real journals on one storage. A part of them in `npm test`. */

import { readFileSync } from "node:fs";
import { createWorker, type Storage } from "@durable/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type DashboardServer, serveDashboard } from "../../src/node/index.ts";
import { axeProblems } from "./axe.ts";
import { openBrowser, picture, skipReason } from "./chromium.ts";
import { createJournals, type Journals, prices } from "./journals.ts";
import { screens } from "./screens.ts";
import { soon, Visitor } from "./visitor.ts";

const isFull = inject("full");

export function pageSuite(name: string, open: () => Promise<Storage>): void {
  describe.skipIf(skipReason !== null)(`the page on ${name}`, () => {
    let browser: Browser;
    let journals: Journals;
    let site: DashboardServer;
    const visit = (path = "/"): Promise<Visitor> =>
      Visitor.open(browser, `${site.origin}${path}#${new URL(site.url).hash.slice(1)}`);

    beforeAll(async () => {
      const storage = await open();
      [browser, journals] = await Promise.all([
        openBrowser(),
        createJournals(storage, { pace: 0, coding: false }),
      ]);
      site = await serveDashboard({ app: journals.app, prices, port: 0, title: ".durable/journal.db" });
    });
    afterAll(async () => {
      await browser?.close();
      await site?.close();
      await journals?.close();
    });

    test("takes the token out of the address, keeps a session in its own storage, and is closed without one", async ({
      skip,
    }) => {
      skip(!isFull);
      const one = await visit("/runs/loan-7");
      await one.status("Completed");
      expect(one.page.url()).toBe(`${site.origin}/runs/loan-7`);
      expect(await one.context.cookies()).toEqual([]);
      const kept = await one.page.evaluate(() => Object.values(window.localStorage).join(" "));
      expect(kept).toMatch(/[0-9a-f]{32}\.\d+\.[0-9a-f]{64}/);
      expect(kept).not.toContain(new URL(site.url).hash.slice("#token=".length));
      await one.page.reload();
      await one.status("Completed");
      // Another tab of the browser has it, too.
      const tab = await one.context.newPage();
      await tab.goto(`${site.origin}/runs/loan-7`);
      await tab.getByText("Completed").first().waitFor();
      // A file is saved by the page itself.
      await one.page.getByText("Share", { exact: true }).click();
      const [saved] = await Promise.all([
        one.page.waitForEvent("download"),
        one.button("HTML file, redacted").click(),
      ]);
      expect(saved.suggestedFilename()).toBe("loan-7.html");
      await one.button("Log out").click();
      await one.says("You are logged out");
      await tab.reload();
      await tab.getByText("it contains the token").waitFor();
      await tab.close();
      one.errors.splice(0, one.errors.length, ...one.errors.filter((text) => !/status of 403/.test(text)));
      await one.close();
      const other = await Visitor.open(browser, `${site.origin}/runs/loan-7`);
      await other.says("it contains the token");
      expect(await other.page.content()).not.toContain("Mill Lane");
      await other.context.close();
    });

    test("lists runs, the newest first, and filters in the address", async () => {
      const one = await visit();
      await one.says("loan-8");
      await expect.poll(async () => (await one.lines())[0], soon).toMatch(/^Blocked deploy/);
      const isBelow = async (): Promise<number> => {
        const lines = await one.lines();
        const parent = lines.findIndex((line) => line.endsWith("loan-underwriting loan-7"));
        return lines.findIndex((line) => line.includes("loan-7-cautious")) - parent;
      };
      await expect.poll(isBelow, soon).toBe(2);
      await one.button("Failed 1").click();
      await expect.poll(() => one.place, soon).toBe("/?status=failed");
      await expect.poll(() => one.lines(), soon).toEqual(["Failed ingest ingest-1"]);
      await one.page.keyboard.press("/");
      await one.page.keyboard.press("Control+a");
      await one.page.keyboard.type("workflow:research-brief");
      await one.page.keyboard.press("Enter");
      await expect.poll(() => one.place, soon).toBe("/?workflow=research-brief");
      await expect.poll(async () => (await one.lines()).length, soon).toBe(2);
      await one.page.keyboard.press("j");
      await one.page.keyboard.press("j");
      await one.page.keyboard.press("Enter");
      await expect.poll(() => one.place, soon).toBe("/runs/brief-1");
      await one.page.goBack();
      await expect.poll(async () => (await one.lines()).length, soon).toBe(2);
      await one.page.keyboard.press("?");
      await one.page.getByRole("dialog", { name: "Keys" }).waitFor();
      await one.close();
    });

    test("shows a run: rows, details, tabs and keys", async () => {
      const one = await visit("/runs/loan-7");
      await one.row("decide").click();
      await expect.poll(() => one.place, soon).toBe("/runs/loan-7?step=decide");
      await one.says("14 Mill Lane. We are glad to lend 248,000.");
      await one.page.keyboard.press("k");
      await expect.poll(() => one.place, soon).toContain("appraisal");
      await one.page.keyboard.press("2");
      await one.page
        .getByRole("listbox", { name: "Journal" })
        .getByRole("option", { name: /run\.completed/ })
        .click();
      await one.page.keyboard.press("3");
      await one.page.getByRole("link", { name: "Compare with loan-7-cautious" }).click();
      await expect.poll(() => one.place, soon).toBe("/diff/loan-7/loan-7-cautious");
      await one.page.locator("ins", { hasText: "counter-offer" }).first().waitFor();
      expect(await one.page.locator("del").first().textContent()).toBe("approve");
      await one.go("/runs/ingest-1?step=embed");
      await one.says("caused by");
      await one.says("rate limit of 60 requests a minute");
      await one.page.getByRole("tab", { name: "Attempts 3" }).click();
      await expect.poll(() => one.page.locator(".attempts li").count(), soon).toBe(3);
      await one.go("/runs/tides?step=think%232");
      await one.says("calls tide_table");
      await one.close();
    });

    test("answers a wait by a form from its schema, and the list hears of it", async () => {
      const [one, other] = await Promise.all([
        visit("/inbox?run=brief-1&key=approve"),
        visit("/?workflow=research-brief"),
      ]);
      await other.says("brief-1");
      await one.button("Answer").click();
      await expect
        .poll(() => one.page.locator("small.fail").allTextContents(), soon)
        .toEqual(["required", "required"]);
      await one.page.getByRole("radio", { name: "Approve" }).check();
      await one.page.getByLabel("audience").selectOption("public");
      await one.page.getByLabel("budget").fill("900");
      await one.button("Answer").click();
      await one.says("at most 500");
      await one.page.getByLabel("budget").fill("120");
      await one.button("Answer").click();
      await one.says("Your answer was received.");
      await expect.poll(() => other.lines(), soon).toContain("Completed research-brief brief-1");
      expect(await journals.app.get("brief-1").result()).toMatchObject({ published: true });
      await one.close();
      await other.close();
    });

    test.runIf(isFull)("forks with the plan first, edits an output, and goes to the fork", async () => {
      const one = await visit("/runs/loan-7?step=decide");
      await one.button("Fork from here").click();
      const dialog = one.page.getByRole("dialog");
      await dialog.getByText("7 calls").or(dialog.getByText("6 calls")).first().waitFor();
      await dialog
        .getByText(/1 call/)
        .first()
        .waitFor();
      await picture(one.page, `${name}-fork-dialog`);
      await dialog.getByText("Replace its output").click();
      await dialog.getByLabel("Output as JSON").fill("{");
      await dialog.getByText("The output is not JSON").waitFor();
      await dialog.getByLabel("Output as JSON").fill('{"kind":"decline","amount":0,"letter":"No."}');
      await dialog.getByLabel("Label").fill("by hand");
      await dialog.getByText("with your output").waitFor();
      await dialog.getByRole("button", { name: "Create the fork" }).click();
      await one.says("Fork of");
      await one.status("Completed");
      await one.says("decide (edited)");
      const { runs } = await journals.app.list({ parent: "loan-7" });
      expect(runs.find(({ label }) => label === "by hand")?.status).toBe("completed");
      await one.close();
    });

    test.runIf(isFull)("retries, wakes and cancels", async () => {
      const one = await visit("/runs/ingest-1");
      await one.button("Retry").click();
      await one.says(/The run (?:continues|failed again)\./);
      await expect.poll(() => retries("ingest-1"), soon).toBe(1);
      await one.go("/runs/letter-46");
      await one.status("Sleeping");
      await one.button("Wake").click();
      await one.status("Completed");
      await one.go("/runs/loan-8");
      await one.button("Cancel").click();
      await one.page.getByLabel("Reason").fill("the applicant withdrew");
      await one.button("Cancel the run").click();
      await one.status("Cancelled");
      await one.says("the applicant withdrew");
      expect((await journals.app.get("loan-8").outcome()).status).toBe("cancelled");
      await one.close();
    });

    const retries = async (id: string): Promise<number> =>
      (await journals.app.get(id).entries()).filter(({ kind }) => kind === "run.retried").length;

    test.runIf(isFull)(
      "finds runs by tags, shows a report, pauses, unpauses and sends a message",
      async () => {
        const one = await visit();
        await one.page.getByRole("link", { name: "customer=42" }).click();
        await expect.poll(() => one.place, soon).toBe("/?tag=customer%3D42");
        await expect.poll(() => one.lines(), soon).toEqual(["Waiting order order-42"]);
        await one.page.getByRole("link", { name: "team=harbour, north" }).click();
        await expect.poll(() => one.lines(), soon).toEqual(["Waiting order order-42"]);
        await picture(one.page, `${name}-tags`);
        await one.go("/runs/order-42");
        await one.says("waits for the carrier");
        await one.button("Pause").click();
        await one.page.getByLabel("Reason").fill("stock-taking");
        await one.button("Pause the run").click();
        await one.status("Paused");
        await one.says("stock-taking");
        await picture(one.page, `${name}-paused`);
        await one.button("Unpause").click();
        await one.status("Waiting");
        await one.button("Send").click();
        const dialog = one.page.getByRole("dialog", { name: "Send a message" });
        expect(await dialog.getByLabel("Topic").inputValue()).toBe("carrier");
        await dialog.getByLabel("Message as JSON").fill("the blue van");
        await dialog.getByRole("button", { name: "Send the message" }).click();
        await dialog.getByRole("alert").waitFor();
        await dialog.getByLabel("Message as JSON").fill('"the blue van"');
        await picture(one.page, `${name}-send`);
        await dialog.getByRole("button", { name: "Send the message" }).click();
        await one.says("The message is recorded.");
        await one.status("Completed");
        expect(await journals.app.get("order-42").result()).toBe("to the blue van");
        await one.close();
      },
    );

    test("operates: schedules, workers, limits, and a clean-up that shows first what would go", async ({
      skip,
    }) => {
      skip(!isFull);
      const worker = createWorker(journals.app, { name: "post-office", workflows: ["story"] });
      const one = await visit("/operate");
      await one.says("30 2 * * * Europe/Paris");
      await one.button("Pause nightly").click();
      await one.says("nightly is paused.");
      await one.button("Unpause nightly").waitFor();
      await picture(one.page, `${name}-schedules`);
      await one.button("Unpause nightly").click();
      await one.says("nightly ticks again.");
      await one.button("Remove nightly").click();
      await one.button("Remove the schedule").click();
      await expect.poll(() => one.button("Remove nightly").count(), soon).toBe(0);
      expect((await journals.app.schedules.list()).schedules.map((each) => each.name)).toEqual(["digest"]);
      await journals.app.pause("newsletter", { reason: "no paper" });
      await one.page.getByRole("tab", { name: "Workers" }).click();
      await one.says("post-office");
      await one.button("Unpause newsletter").waitFor();
      await picture(one.page, `${name}-workers`);
      await one.button("Unpause newsletter").click();
      await one.says("Runs of newsletter continue.");
      expect(await journals.app.paused()).toEqual([]);
      await one.page.getByRole("tab", { name: "Limits" }).click();
      await one.page.getByRole("region", { name: "Quotas" }).getByText("model-x").first().waitFor();
      await one.page.getByRole("tab", { name: "Clean up" }).click();
      await one.page.getByLabel("Ended longer ago than").fill("1 ms");
      await one.page.getByLabel("Completed").uncheck();
      await one.page.getByLabel("Cancelled").check();
      await one.page.getByLabel("Workflow").fill("research-brief");
      await one.button("Show what would go").click();
      await one.says("1 run would go.");
      await picture(one.page, `${name}-clean-up`);
      expect((await journals.app.get("brief-0").outcome()).status).toBe("cancelled");
      await one.button("Remove 1 run").click();
      await one.says("Removed 1 run.");
      await expect(journals.app.get("brief-0").outcome()).rejects.toMatchObject({ code: "not-found" });
      await one.close();
      await worker.stop();
    });

    test("shows a stream while it is written", async () => {
      await journals.startStory();
      const one = await visit("/runs/story-1?step=tell");
      await one.says("Once upon a time the sea rose twice");
      await one.says("writing");
      await one.status("Running");
      const list = await visit("/?status=running");
      await list.page.getByText("tell", { exact: true }).waitFor();
      await list.close();
      journals.finishStory();
      await one.says("and nobody asked why.");
      await one.status("Completed");
      await expect.poll(() => one.page.getByText("writing").count(), soon).toBe(0);
      await one.close();
    });

    test("is a file that opens offline and sends nothing", async ({ skip }) => {
      skip(!isFull);
      const one = await visit("/runs/loan-7-cautious");
      await one.page.getByText("Share", { exact: true }).click();
      const [download] = await Promise.all([
        one.page.waitForEvent("download"),
        one.page.getByText("HTML file, redacted").click(),
      ]);
      const path = `${await download.path()}.html`;
      await download.saveAs(path);
      await one.close();
      expect(readFileSync(path, "utf8")).toContain("loan-7-cautious");
      const offline = await Visitor.open(browser, `file://${path}`);
      await offline.context.setOffline(true);
      await offline.status("Completed");
      await offline.row("decide").click();
      await offline.says("75 % of 306,000");
      await offline.page.keyboard.press("2");
      await offline.page.getByRole("option", { name: /run\.forked/ }).waitFor();
      await picture(offline.page, `${name}-file`);
      expect(await offline.button("Fork").count()).toBe(0);
      await offline.close();
    });

    test("has no fault for screen readers, in both themes, and fits every width", async () => {
      // Two screens here, all of them in `npm run test:full`; each in one of the looks.
      const looks = [
        ["light", 1400],
        ["dark", 420],
      ] as const;
      for (const [turn, [theme, width]] of looks.entries()) {
        const one = await Visitor.open(browser, site.url, { theme, width });
        await one.says("loan-7");
        for (const [i, [screen, path]] of Object.entries(screens).entries()) {
          if (isFull ? i % 2 !== turn : screen !== ["run-step", "operate"][turn]) continue;
          await one.go(path);
          await one.settled();
          expect(await one.fits(), `${screen} at ${width}`).toBe(true);
          expect(await one.overlaps(), `${screen} at ${width}`).toEqual([]);
          expect(await axeProblems(one.page), `${screen} ${theme}`).toEqual([]);
        }
        await one.close();
      }
    });
  });
}
