/** Every command is a process of its own; the journal is all they share. */

import { begun, killDemos, Place, runDemo } from "example-llm/process";
import { afterEach, describe, expect, inject, test } from "vitest";
import { Bank } from "./support/bank.ts";

const places: Place[] = [];
const open = (): Bank => {
  const place = new Place("loan-underwriting");
  places.push(place);
  return new Bank(place);
};

afterEach(() => {
  killDemos();
  for (const place of places.splice(0)) place.remove();
});

const timeout = 300_000;
const full = inject("full");

describe("reviews from other processes", () => {
  test("H43 all orders, and both at once: one decision, each step run once", { timeout }, async () => {
    const decisions: (string | null)[] = [];
    const orders = [["credit", "appraisal"], ["credit"], ["appraisal"]];
    for (const order of orders.slice(0, full ? 3 : 1)) {
      const bank = open();
      expect(await bank.type("apply")).toMatchObject({ code: 10, err: "" });
      const tokens = await bank.tokens();
      const rest = Object.keys(tokens).filter((branch) => !order.includes(branch));
      // Those of a list are answered at the same time.
      for (const together of [order, rest])
        await Promise.all(together.map((branch) => bank.type("review", tokens[branch] ?? "", "approve")));
      decisions.push(await bank.letter());
      expect(
        begun(bank.place.effects())
          .map((line) => line.split(" ")[1] ?? "")
          .toSorted((a, b) => a.localeCompare(b)),
      ).toEqual([
        "decide",
        "parallel[appraisal]/search",
        "parallel[appraisal]/value",
        "parallel[credit]/assess",
        "parallel[credit]/pull",
      ]);
    }
    expect(decisions[0]).toContain("248,000");
    expect(new Set(decisions).size).toBe(1);
  });

  test.runIf(full)("forks: planned, made once, and counted", { timeout }, async () => {
    const bank = open();
    await bank.decide();
    const steps = begun(bank.place.effects()).length;
    const decision = await bank.type("fork", "decision");
    expect(decision.code).toBe(0);
    expect(decision.out).toMatch(/^ {2}saved +\d+ in, \d+ out, \$0\.\d+$/m);
    expect(decision.out).toContain("Model calls here: 0 upstream, 1 for the decision.");
    expect(decision.out).toMatch(/^ {2}re-run +decide +approve 248,000 -> counter-offer 229,000$/m);
    expect(begun(bank.place.effects())).toHaveLength(steps + 1);

    const again = await bank.type("fork", "decision");
    expect(again.out).toContain("Finished before: all 5 steps came from the journal, nothing ran.");

    const credit = await bank.type("fork", "credit");
    expect(credit.code).toBe(10);
    expect(credit.out).toContain("Model calls here: 0 upstream, 0 for the decision.");
    const { credit: token = "" } = await bank.tokens("loan-credit");
    const review = await bank.type("review", token, "reject", "--comment", "no");
    expect(review.out).toMatch(/^ {2}re-run +parallel\[credit\]\/review +approved -> rejected$/m);
    const lines = begun(bank.place.effects()).slice(steps + 1);
    expect(lines.map((line) => line.split(" ")[1])).toEqual(["decide"]);
  });
});

describe("what reviewers type", () => {
  test.runIf(full)(
    "the list, an answer that does not fit, a token that was made up, a second answer",
    { timeout },
    async () => {
      const bank = open();
      expect((await bank.type("review")).out).toContain("No review is open.");
      await bank.type("apply");
      const { credit = "", appraisal = "" } = await bank.tokens();
      const list = await bank.type("review");
      expect(list.out).toContain(`-- ${credit} approve`);
      expect(list.out).toContain("2 open");
      expect((await bank.type("review", credit, "approve", "--value", "1")).out).toMatch(
        /^invalid: .*value/m,
      );
      expect((await bank.type("review", "made-up", "approve")).out).toContain(
        "unknown: no review has this token",
      );
      expect((await bank.type("review", appraisal, "approve")).code).toBe(0);
      const second = await bank.type("review", appraisal, "reject");
      expect(second).toMatchObject({
        code: 1,
        out: expect.stringContaining("duplicate: it was answered before"),
      });
    },
  );
});

// In `npm test`, the command line shows the runs of this demo.
test.runIf(full)(
  "the demo runs to its end, without escape codes outside of a terminal",
  { timeout },
  async () => {
    const place = new Place("loan-underwriting");
    places.push(place);
    const { code, out, err } = await runDemo(place, { args: ["demo"] });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const counts = out.match(/Model calls here: .*/g);
    expect(counts).toEqual([
      "Model calls here: 2 upstream, 0 for the decision.",
      "Model calls here: 0 upstream, 0 for the decision.",
      "Model calls here: 0 upstream, 1 for the decision.",
      "Model calls here: 0 upstream, 1 for the decision.",
      "Model calls here: 0 upstream, 0 for the decision.",
      "Model calls here: 0 upstream, 1 for the decision.",
    ]);
    // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
    expect(out).not.toMatch(/[\u001B\r]/);
  },
);
