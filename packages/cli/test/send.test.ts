import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

/** A run of a workflow that the command line does not know, which shows a report and waits for a message. */
async function waiting(): Promise<void> {
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  const mail = durable("mail", async (ctx) => {
    ctx.report({ waits: "for notes" });
    return ctx.receive("note");
  });
  const app = createApp({ storage, secret: await storage.secret(), workflows: [mail] });
  const run = await app.start("mail", undefined, { id: "mail-1" });
  await run.result().catch(() => {});
  await storage.close();
}

test("send records a message once, and says what became of it", async () => {
  await waiting();
  const first = await project.cli(["send", "mail-1", "note", '{"n":1}', "--id", "a"]);
  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toContain('recorded in the mailbox "note" of mail-1');
  expect(await project.json(["send", "mail-1", "note", '{"n":1}', "--id", "a"])).toMatchObject({
    runId: "mail-1",
    topic: "note",
    status: "accepted",
    repeated: true,
  });
  const other = await project.cli(["send", "mail-1", "note", '{"n":2}', "--id", "a"]);
  expect(other).toMatchObject({ code: 4 });
});

test("show and ls have the report, and resume says how to answer", async () => {
  await waiting();
  const shown = await project.cli(["show", "mail-1"]);
  expect(shown.out).toContain("report");
  expect(shown.out).toContain("for notes");
  // Not resume, which would refuse.
  expect(shown.err).toContain("durable send mail-1 'note' '...'");
  expect(shown.err).not.toContain("durable resume");
  expect(await project.json(["show", "mail-1"])).toMatchObject({
    run: { report: { waits: "for notes" }, waiting: [{ key: "note", topic: "note" }] },
  });
  expect((await project.cli(["ls"])).out).toContain("for notes");
  const refused = await project.cli(["resume", "mail-1", "--data", "1"]);
  expect(refused).toMatchObject({ code: 4 });
  expect(refused.err).toContain("durable send mail-1 'note'");
});

test("resume --error answers with a failure", async () => {
  const said = await project.cli(["resume", "old-1", "--error", "the bank declined"]);
  expect(said).toMatchObject({ code: 0 });
  const journal = await project.cli(["show", "old-1", "--journal"]);
  expect(journal.out).toContain("the bank declined");
});
