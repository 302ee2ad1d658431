import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Project, workflowsFile } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

const code = ["--app", workflowsFile];
const statusOf = async (id: string): Promise<unknown> => {
  const { run } = (await project.json(["show", id])) as { run: { status: string } };
  return run.status;
};

describe("resume", () => {
  test("asks field by field in a terminal, and again when a field does not fit", async () => {
    const said = await project.cli(["resume", "moon-1", ...code], { types: ["maybe", "yes", "120", ""] });
    expect(said.err).toContain("approved (yes or no)");
    expect(said.err).toContain("approved needs yes or no");
    expect(said.err).toContain("amount? (number)");
    expect(said.out).toContain("The answer to approve is recorded.");
    expect(said.out).toContain("completed");
    expect(said.code).toBe(0);
    const { step } = (await project.json(["show", "moon-1", "--step", "approve"])) as {
      step: { value: unknown };
    };
    expect(step.value).toEqual({ approved: true, amount: 120 });
  });

  test("takes --data, --set, a file and stdin", async () => {
    writeFileSync(join(project.folder, "no.json"), '{ "approved": false }');
    const before = await statusOf("moon-1");
    expect(before).toBe("suspended");
    const refused = await project.cli(["resume", "moon-1", "--data", "@no.json", ...code]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.out).toContain("failed");
    const again = await project.cli(["resume", "moon-1", "--set", "approved=true", ...code]);
    expect(again).toMatchObject({ code: 4 });
    expect(again.err).toContain("waits for no answer");
    const old = await project.cli(["resume", "old-1", "-d", "-"], { input: '"fine"' });
    expect(old).toMatchObject({ code: 0 });
  });

  test("without a terminal says what to type, and exits with 10", async () => {
    const { code: status, err } = await project.cli(["resume", "moon-1"]);
    expect(status).toBe(10);
    expect(err).toContain("durable resume moon-1 --wait 'approve' --data");
    expect(err).toContain("approved: boolean");
    const { error } = (await project.json(["resume", "moon-1"])) as { error: object };
    expect(error).toMatchObject({ code: "needs-input", exit: 10 });
  });

  test("refuses an answer that does not fit, and the wait stays open", async () => {
    const said = await project.json(["resume", "moon-1", "--set", "approved=perhaps", ...code]);
    expect(said).toMatchObject({ status: "invalid", key: "approve" });
    expect(await statusOf("moon-1")).toBe("suspended");
  });

  test("without code records the answer, and a worker continues", async () => {
    const said = await project.cli(["resume", "moon-1", "--set", "approved=true"]);
    expect(said).toMatchObject({ code: 0 });
    expect(said.err).toContain("a worker continues it");
    const { run } = (await project.json(["show", "moon-1"])) as { run: { waits: { answered: boolean }[] } };
    expect(run.waits).toMatchObject([{ answered: true }]);
    expect((await project.cli(["wake", "moon-1", ...code])).code).toBe(0);
    expect(await statusOf("moon-1")).toBe("completed");
  });
});

describe("wake", () => {
  test("ends a sleep, and the run goes on to its next stop", async () => {
    const alone = await project.json(["wake", "tides-2"]);
    expect(alone).toMatchObject({ woken: ["sleep"], driven: false });
    const said = await project.cli(["wake", "tides-2", ...code]);
    expect(said.out).toContain("tides-2 was not asleep.");
    expect(said.code).toBe(10);
    const { run } = (await project.json(["show", "tides-2"])) as { run: { waits: { key: string }[] } };
    expect(run.waits).toMatchObject([{ key: "approve" }]);
    expect((await project.cli(["wake", "tides-1"])).code).toBe(4);
  });
});

describe("cancel and rm", () => {
  test("cancel by id, with a reason; twice is refused", async () => {
    const said = await project.cli(["cancel", "moon-1", "--reason", "not needed"]);
    expect(said).toMatchObject({ code: 0, out: "moon-1 ⊘ cancelled\n" });
    const { run } = (await project.json(["show", "moon-1"])) as { run: object };
    expect(run).toMatchObject({ status: "cancelled", error: "not needed" });
    expect((await project.cli(["cancel", "moon-1"])).code).toBe(4);
  });

  test("by filter needs --yes, or the number typed", async () => {
    const filter = ["--workflow", "research-brief"];
    const refused = await project.cli(["cancel", ...filter]);
    expect(refused).toMatchObject({ code: 4 });
    expect(refused.err).toContain("This would cancel 2 runs. Add --yes");
    expect((await project.cli(["cancel", ...filter], { types: ["3"] })).code).toBe(4);
    expect(await statusOf("moon-1")).toBe("suspended");
    expect(await project.cli(["cancel", ...filter], { types: ["2"] })).toMatchObject({ code: 0 });
    expect(await statusOf("moon-1")).toBe("cancelled");
    const removed = await project.json(["rm", ...filter, "--status", "cancelled", "--yes"]);
    expect(removed["runs"]).toHaveLength(2);
    expect((await project.cli(["show", "moon-1"])).code).toBe(3);
  });

  test("rm refuses to remove everything, and keeps what a fork reads", async () => {
    expect((await project.cli(["rm"])).code).toBe(2);
    expect((await project.cli(["rm", "tides-1"])).code).toBe(0);
    expect((await project.cli(["show", "tides-1"])).code).toBe(3);
    expect((await project.cli(["show", "tides-2"])).code).toBe(0);
    const { runs } = (await project.json(["rm", "--before", "30d", "--dry-run"])) as { runs: string[] };
    expect(runs).toEqual([]);
  });
});

describe("fork", () => {
  test("by name, with an edited output, and the old run stays as it is", async () => {
    const before = await project.json(["show", "tides-1"]);
    const said = await project.cli([
      "fork",
      "tides-1",
      "--from",
      "draft#2",
      "--output",
      "better",
      "--id",
      "better-1",
      ...code,
    ]);
    expect(said.code).toBe(10);
    expect(said.out).toContain("⑂ better-1 of tides-1");
    expect(said.out).toContain("6 calls from the journal");
    const { run } = (await project.json(["show", "better-1"])) as {
      run: { lineage: object; totals: object };
    };
    expect(run).toMatchObject({ lineage: { edited: ["draft#2"] }, sleeping: true, totals: { attempts: 0 } });
    expect(await project.json(["show", "tides-1"])).toEqual(before);
  });

  test("with another input, another answer, and from the failure", async () => {
    const input = await project.cli([
      "fork",
      "tides-1",
      "--from",
      "plan",
      "--input",
      "storms",
      "--id",
      "storms-1",
      ...code,
    ]);
    expect(input.code).toBe(10);
    const { step } = (await project.json(["show", "storms-1", "--step", "plan"])) as { step: object };
    expect(step).toMatchObject({ value: "a plan for storms" });
    const edited = await project.cli([
      "fork",
      "sun-1",
      "--edit",
      'approve={"approved":true}',
      "--id",
      "sun-2",
      ...code,
    ]);
    expect(edited.code).toBe(0);
    expect(await statusOf("sun-2")).toBe("completed");
    const again = await project.json(["fork", "sun-1", "--from-failure", "--id", "sun-3", ...code]);
    expect(again).toMatchObject({ status: "suspended", parent: "sun-1" });
    expect((await project.cli(["fork", "tides-1", "--from-failure", ...code])).code).toBe(4);
  });

  test("says what is missing: a place, a step, the code", async () => {
    expect((await project.cli(["fork", "tides-1", ...code])).err).toContain("Say where the fork begins");
    const unknown = await project.cli(["fork", "tides-1", "--from", "drafd", ...code]);
    expect(unknown).toMatchObject({ code: 3 });
    expect(unknown.err).toContain("Did you mean: draft");
    const bare = await project.cli(["fork", "tides-1", "--from", "plan"]);
    expect(bare).toMatchObject({ code: 2 });
    expect(bare.err).toContain("durable.config.ts");
  });
});

test("runs are named by a part of their id, and a part that several share is refused", async () => {
  expect((await project.json(["show", "moon"])) as object).toMatchObject({ run: { runId: "moon-1" } });
  expect((await project.cli(["show", "tides"])).err).toContain(
    '"tides" means several runs: tides-2, tides-1',
  );
  expect((await project.json(["show", "@last"])) as object).toMatchObject({ run: { runId: "old-1" } });
  expect((await project.cli(["show", "@nobody"])).code).toBe(2);
  mkdirSync(join(project.folder, "empty"));
  const none = await project.cli(["show", "@running"]);
  expect(none).toMatchObject({ code: 3, err: "No run is running.\n" });
});
