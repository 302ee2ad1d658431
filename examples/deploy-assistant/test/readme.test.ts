/** What the README says is what happens: its code is the code, its curl lines are run as they stand. */

import { killDemos } from "example-llm/process";
import { codeInReadme, runScript, scriptsInReadme } from "example-llm/readme";
import { afterEach, expect, inject, test } from "vitest";
import type { Posted } from "./support/desk.ts";
import { Place, ServerProcess } from "./support/server-process.ts";

const [start = "", address = "", reply = ""] = scriptsInReadme("deploy-assistant");

/** Several processes start one after the other. */
const slow = { timeout: 300_000 };

const places: Place[] = [];
afterEach(async () => {
  killDemos();
  for (const place of places.splice(0)) await place.remove();
});

/** Runs a script of the page, with the port and folder of the test. */
function shell(script: string, { place, url }: { place: Place; url: string }): Promise<string> {
  const texts = { "localhost:8000": new URL(url).host, "examples/deploy-assistant/.durable": place.folder };
  return runScript(script, texts);
}

const open = (): Place => {
  const place = new Place();
  places.push(place);
  return place;
};

test("the code in the README is the code", () => {
  const { block, source } = codeInReadme("deploy-assistant", "assistant.ts");
  expect(block.split("\n").length).toBeGreaterThan(10);
  expect(source).toContain(block);
});

test("one curl starts a run, a second resumes it, with a kill -9 in between", slow, async () => {
  const place = open();
  const first = new ServerProcess(place);
  const started = JSON.parse(await shell(start, { place, url: await first.url() })) as Posted;
  expect(started).toEqual({ status: "started", runId: started.runId });
  await place.mail("-plan.eml");
  await first.kill();

  const second = new ServerProcess(place);
  const at = { place, url: await second.url() };
  const [to = "", answer = ""] = (await shell(`${address}\n${reply}`, at)).split("\n");
  expect(to).toMatch(/^deploy\+[a-z2-7]{55}@localhost$/);
  expect(JSON.parse(answer)).toEqual({ status: "resumed", runId: started.runId });
  expect(await place.mail("-deployed.eml")).toContain("1.1.0 is on staging");
  // The second process found the work of the first in the journal.
  const found = async (): Promise<void> => {
    const { out } = await second.kill();
    expect(out).toMatch(/ journal +plan /);
    expect(out).not.toMatch(/ ran +plan /);
  };
  // A third process is asked again in `npm run test:full`, and the second one here.
  const isThird = inject("full");
  if (isThird) await found();
  const again = { place, url: isThird ? await new ServerProcess(place).url() : at.url };
  const printed = (await shell(`${start}\necho\n${address}\n${reply}`, again)).split("\n");
  const duplicate = { status: "duplicate", runId: started.runId };
  expect([JSON.parse(printed[0] ?? ""), JSON.parse(printed[2] ?? "")]).toEqual([duplicate, duplicate]);
  expect(place.mails()).toHaveLength(3);
  if (!isThird) await found();
});

test("H33 the two requests reach two processes, which run at the same time", slow, async () => {
  const place = open();
  const [one, two] = [new ServerProcess(place), new ServerProcess(place)];
  const { runId } = JSON.parse(await shell(start, { place, url: await one.url() })) as Posted;
  await place.mail("-plan.eml");
  const at = { place, url: await two.url() };
  const [, answer = ""] = (await shell(`${address}\n${reply}`, at)).split("\n");
  expect(JSON.parse(answer)).toEqual({ status: "resumed", runId });
  expect(await place.mail("-deployed.eml")).toContain("1.1.0 is on staging");
  expect(place.mails()).toHaveLength(3);
});
