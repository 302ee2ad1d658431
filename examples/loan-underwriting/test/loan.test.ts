import { fork, MemoryStorage, type ForkOptions, type Run, type Workflow } from "@durable/core";
import { diff } from "@durable/core/inspect";
import { scriptedModel, type Watcher, watched, watching, type Script } from "example-llm";
import { describe, expect, test } from "vitest";
import { forks } from "../src/desk.ts";
import { createLoan, policies, type Case, type Decision } from "../src/loan.ts";
import { script } from "../src/script.ts";

const application = { applicant: "applicant 4711", property: "14 Mill Lane", amount: 248_000 };
const asked: Case = { application, policy: policies.standard };

interface Bank {
  readonly loan: Workflow<Case, Decision>;
  /** Tasks the model was given, by their first word. */
  readonly calls: string[];
  /** Keys of steps whose bodies were called, in order. */
  readonly ran: string[];
}

function bank(says: Script = script): Bank {
  const calls: string[] = [];
  const ran: string[] = [];
  const heard: Watcher = { began: ({ key }) => ran.push(key) };
  const model = scriptedModel(
    (prompt) => {
      calls.push(/"text":"(\w+)/.exec(JSON.stringify(prompt))?.[1] ?? "");
      return says(prompt);
    },
    { pace: 0 },
  );
  const loan = watching(createLoan(model), (ctx) => watched(ctx, [heard]));
  // Cold: every answer finds the journal and nothing else.
  const options = { storage: new MemoryStorage(), secret: "a secret for tests, of no worth at all", warm: 0 };
  return { loan: loan.with(options), calls, ran };
}

async function tokenOf(run: Run<Decision, Case>, branch: string): Promise<string> {
  const outcome = await run.outcome();
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  return outcome.waiting.find(({ key }) => key === `parallel[${branch}]/review`)?.token ?? "";
}

/** A loan that was decided, and what it took. */
async function decided(made = bank()): Promise<Bank & { run: Run<Decision, Case>; decision: Decision }> {
  await made.loan.run(asked, { id: "one" });
  const run = made.loan.get("one");
  for (const branch of ["credit", "appraisal"])
    await made.loan.resume(await tokenOf(run, branch), { approved: true });
  return { ...made, run, decision: await run.result() };
}

/** A fork as far as it goes by itself. */
async function forked(run: Run<Decision, Case>, options: ForkOptions<Case>): Promise<Run<Decision, Case>> {
  const made = await fork(run, options);
  await made.result().catch(() => {});
  return made;
}

describe("reviews", () => {
  test("the model is asked once per task, whatever is replayed in between", async () => {
    const { calls, ran, decision } = await decided();
    expect(calls.toSorted()).toEqual(["Assess", "Propose", "Value"]);
    expect(ran).toHaveLength(5);
    expect(decision).toMatchObject({ kind: "approve", amount: 248_000 });
  });

  test.each([
    [{ limit: 180_000 }, {}, { kind: "counter-offer", amount: 180_000 }],
    [{}, { value: 250_000 }, { kind: "counter-offer", amount: 212_000 }],
    [{ approved: false }, {}, { kind: "decline", amount: 0 }],
    [{}, { approved: false }, { kind: "decline", amount: 0 }],
  ])("credit %o and appraisal %o come to %o, in either order", async (credit, appraisal, end) => {
    const answers = { credit: { approved: true, ...credit }, appraisal: { approved: true, ...appraisal } };
    const decisions: Decision[] = [];
    for (const order of [
      ["credit", "appraisal"],
      ["appraisal", "credit"],
    ] as const) {
      const { loan } = bank();
      await loan.run(asked, { id: "one" });
      for (const branch of order) await loan.resume(await tokenOf(loan.get("one"), branch), answers[branch]);
      decisions.push(await loan.get("one").result());
    }
    expect(decisions[0]).toMatchObject(end);
    expect(decisions[1]).toEqual(decisions[0]);
  });

  test("an answer that does not fit leaves its review open, and the other one alone", async () => {
    const { loan } = bank();
    await loan.run(asked, { id: "one" });
    const token = await tokenOf(loan.get("one"), "credit");
    const { status, issues } = await loan.resume(token, { approved: true, value: 300_000 });
    expect({ status, issues }).toMatchObject({ status: "invalid", issues: expect.stringContaining("value") });
    const outcome = await loan.get("one").outcome();
    expect(outcome.status === "suspended" && outcome.waiting).toHaveLength(2);
  });

  test("U2 no model lifts the ceiling, nor lends what a person refused", async () => {
    const generous: Script = (prompt) => {
      const { text = "" } = script(prompt);
      return {
        text: text.includes("letter") ? JSON.stringify({ amount: 9_000_000, letter: "Take it." }) : text,
      };
    };
    const { run } = await decided(bank(generous));
    expect(await run.result()).toMatchObject({ kind: "approve", amount: 248_000 });
    const again = await forked(run, { edit: { "parallel[credit]/review": { approved: false } } });
    expect(await again.result()).toMatchObject({ kind: "decline", amount: 0 });
  });
});

describe("forks", () => {
  test("H44 of the decision: no upstream model is called, and the parent is left as it was", async () => {
    const { run, calls, ran } = await decided();
    const before = JSON.stringify(await run.entries());
    const plan = await run.plan(forks.decision);
    calls.length = ran.length = 0;
    const made = await forked(run, forks.decision);
    expect(await made.result()).toMatchObject({ kind: "counter-offer", amount: 229_000 });
    expect(calls).toEqual(["Propose"]);
    expect(ran).toEqual(["decide"]);
    // What was planned is what happened.
    expect(plan.calls.filter(({ what }) => what === "runs").map(({ key }) => key)).toEqual(ran);
    expect(plan.calls.filter(({ what }) => what === "reused")).toHaveLength(6);
    expect(plan).toMatchObject({ blocked: null, saved: { cost: null } });
    const spent = await spentBy(run);
    expect(plan.saved.inputTokens + plan.atStake.inputTokens).toBe(spent);
    expect(plan.saved.inputTokens).toBeGreaterThan(0);
    expect(JSON.stringify(await run.entries())).toBe(before);
  });

  test("H44 into the credit review: no appraisal step runs, and the old token opens nothing", async () => {
    const { run, loan, calls, ran } = await decided();
    const plan = await run.plan(forks.credit);
    const of = (what: string): string[] =>
      plan.calls.filter((call) => call.what === what).map(({ key }) => key);
    calls.length = ran.length = 0;
    const made = await forked(run, forks.credit);
    expect(ran).toEqual([]);
    const outcome = await made.outcome();
    expect(outcome.status === "suspended" && outcome.waiting.map(({ key }) => key)).toEqual(of("waits"));
    expect(of("waits")).toEqual(["parallel[credit]/review"]);

    const { status } = await loan.resume(await tokenOf(made, "credit"), { approved: true, limit: 180_000 });
    expect(status).toBe("accepted");
    expect(await made.result()).toMatchObject({ kind: "counter-offer", amount: 180_000 });
    expect(ran).toEqual(of("runs"));
    expect(calls).toEqual(["Propose"]);
    const { calls: changes } = diff(await run.entries(), await made.entries());
    const named = (change: string): string[] =>
      changes.filter((call) => call.change === change).map(({ key }) => key);
    expect(named("re-run")).toEqual([...of("waits"), ...of("runs")]);
    expect(named("same").toSorted()).toEqual(of("reused").toSorted());
    expect(named("same").filter((key) => key.includes("appraisal"))).toHaveLength(3);
  });

  test("H44 of a loan that still waits: the answered branch is kept, the open review opens anew", async () => {
    const { loan, calls } = bank();
    await loan.run(asked, { id: "one" });
    const run = loan.get("one");
    await loan.resume(await tokenOf(run, "appraisal"), { approved: true });
    const old = await tokenOf(run, "credit");
    calls.length = 0;
    const made = await forked(run, {
      edit: { "parallel[credit]/assess": { limit: 200_000, summary: "mine" } },
    });
    expect(calls).toEqual([]);
    const token = await tokenOf(made, "credit");
    expect(token).not.toBe(old);
    await loan.resume(token, { approved: true });
    expect(await made.result()).toMatchObject({ amount: 200_000 });
    expect((await run.outcome()).status).toBe("suspended");
  });

  test("an edit that its step could not have given is refused", async () => {
    const { run } = await decided();
    const edit = { "parallel[credit]/assess": { limit: "much", summary: "" } };
    await expect(run.fork({ edit, id: "bad" })).rejects.toMatchObject({ code: "invalid-input" });
  });
});

async function spentBy(run: Run<Decision, Case>): Promise<number> {
  const used = (await run.entries()).flatMap((entry) => ("usage" in entry ? (entry.usage ?? []) : []));
  return used.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
}
