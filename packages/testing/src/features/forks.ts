/** Forks, copies to another storage, and workers of some versions. */

import { copyRuns, durable, MemoryStorage } from "@durable/core";
import { expect } from "vitest";
import type { Feature } from "./feature.ts";
import { tokenOf, type FeatureLab } from "./lab.ts";

const sum = durable("sum", async (ctx, input: number) => {
  const a = await ctx.step("a", () => input);
  const b = await ctx.step("b", () => a + 1);
  return `${a} ${b} ${await ctx.suspend<string>("go")}`;
});

export const forks: Feature = {
  name: "Forks",
  page: "guides/write/forking.md",
  programs: {
    "a fork keeps recorded work, takes edits, and outlives its parent": async (lab) => {
      const app = lab.app([sum]);
      await lab.run(app.start("sum", 1, { id: "r", drive: false }));
      await lab.run(app.advance("r"));
      await lab.run(app.get("r").fork({ from: "go", id: "same" }));
      await lab.run(app.get("r").fork({ edit: { a: 10 }, id: "edited" }));
      lab.worker(app);
      await lab.until("all wait", async () => (await lab.statuses(app))["suspended"] === 3);
      expect(await lab.ids(app, { parent: "r" })).toEqual(["edited", "same"]);
      await lab.run(app.delete("r"));
      for (const id of ["same", "edited"])
        await lab.run(app.resume(tokenOf(await app.get(id).outcome()), "yes"));
      expect(await lab.ended(app.get("same"))).toMatchObject({ output: "1 2 yes" });
      expect(await lab.ended(app.get("edited"))).toMatchObject({ output: "10 11 yes" });
      expect(await lab.ids(app)).toEqual(["edited", "same"]);
    },
  },
};

function memory(lab: FeatureLab): MemoryStorage {
  return new MemoryStorage({ now: () => lab.world.now() });
}

export const copies: Feature = {
  name: "Copying runs",
  page: "guides/operate/moving-to-another-storage.md",
  programs: {
    "runs move to this storage with their tokens, and back": async (lab) => {
      const [before, after] = [memory(lab), memory(lab)];
      const old = lab.app([sum], { storage: before });
      await lab.run(old.start("sum", 1, { id: "r", tags: { of: "ann" }, drive: false }));
      const token = tokenOf(await lab.run(old.advance("r")));
      await lab.run(old.get("r").fork({ from: "b", id: "f" }));
      await lab.pass(1_000);
      expect(await lab.run(copyRuns(before, lab.storage))).toMatchObject({ runs: 2, refused: [] });
      const app = lab.app([sum]);
      expect(await lab.run(app.resume(token, "yes"))).toMatchObject({ status: "accepted" });
      expect(await app.get("r").outcome()).toMatchObject({ status: "completed", output: "1 2 yes" });
      expect(await lab.run(copyRuns(lab.storage, after))).toMatchObject({ runs: 2, refused: [] });
      const last = lab.app([sum], { storage: after });
      expect(await last.get("r").outcome()).toMatchObject({ status: "completed", output: "1 2 yes" });
      expect(await last.get("f").outcome()).toMatchObject({ status: "suspended" });
      const ids = async (of: typeof app): Promise<string[]> =>
        (await lab.run(of.list())).runs.map(({ runId }) => runId);
      expect(await ids(last)).toEqual(await ids(old));
    },
    "a run that was not copied is named by its id": async (lab) => {
      const target = memory(lab);
      const app = lab.app([sum]);
      const elsewhere = lab.app([sum], { storage: target });
      for (const one of [app, elsewhere])
        await lab.run(one.start("sum", one === app ? 1 : 2, { id: "r", drive: false }));
      const { refused } = await lab.run(copyRuns(lab.storage, target));
      expect(refused.map(({ runId }) => runId)).toEqual(["r"]);
    },
  },
};

export const versions: Feature = {
  name: "Workers by version",
  page: "guides/operate/finding-runs.md",
  programs: {
    "a worker drives runs of its versions, and leaves the others": async (lab) => {
      const flow = durable("job", (ctx) => ctx.step("work", () => ctx.version));
      const apps = ["1", "2"].map((version) => lab.app([flow.with({ version })]));
      const [one, two] = apps as [(typeof apps)[0], (typeof apps)[0]];
      for (const [n, app] of [one, two, one, two].entries())
        await lab.run(app.start("job", undefined, { id: `r${n}`, drive: false }));
      lab.worker(two, { versions: ["2"] });
      await lab.until("its runs have ended", async () => (await lab.statuses(one))["completed"] === 2);
      await lab.pass(120_000);
      expect(await lab.ids(one, { status: "completed" })).toEqual(["r1", "r3"]);
      lab.worker(one, { versions: ["1"] });
      await lab.until("all have ended", async () => (await lab.statuses(one))["completed"] === 4);
    },
    "a worker drives runs of its workflows, and leaves the others": async (lab) => {
      const flows = ["a", "b"].map((name) => durable(name, (ctx) => ctx.step("work", () => 1)));
      const app = lab.app(flows);
      for (const name of ["a", "b"]) await lab.run(app.start(name, undefined, { id: name, drive: false }));
      lab.worker(app, { workflows: ["b"] });
      await lab.until("its run has ended", async () => (await lab.statuses(app))["completed"]);
      await lab.pass(60_000);
      expect(await lab.ids(app, { status: "completed" })).toEqual(["b"]);
    },
  },
};
