import { createApp, durable, type AnyWorkflow } from "@durable/core";
import { expect, test } from "vitest";
import { lab, noticingLab, pause, sqliteLab, type Lab } from "./support/behaviour-lab.ts";
import { bare, open, type Shop } from "./support/worker-lab.ts";
import { heads, numbered, record } from "./support/worker-runs.ts";

/** Workflow b in two versions: the second has one more step, before a wait. */
function versions(on: Lab): { readonly old: readonly AnyWorkflow[]; readonly new: readonly AnyWorkflow[] } {
  const work = (): Promise<void> => pause(on.world, 700);
  const a = durable("a", async (ctx) => {
    await ctx.step("one", work);
    return ctx.step("two", () => "a");
  });
  const b = (version: string): AnyWorkflow =>
    durable(
      "b",
      async (ctx) => {
        await ctx.step("one", work);
        if (version === "2") await ctx.step("check", work);
        await ctx.sleep("1 minute");
        await ctx.step("two", work);
        return "b";
      },
      { version },
    );
  const c = durable("c", (ctx) => ctx.step("one", () => "c"));
  return { old: [a, b("1")], new: [b("2"), c] };
}

function bareLab(): Lab {
  const base = lab();
  return { ...base, storage: bare(base.storage) };
}

const labs = { "memory, with notices": noticingLab, "memory, bare": bareLab, sqlite: sqliteLab };

test.each(Object.entries(labs))(
  "two versions of the code on one storage (%s): all runs end, and those of unknown workflows wait",
  async (_name, make) => {
    const on = make();
    const code = versions(on);
    const ids = ["a", "b", "c", "d"].flatMap((workflow) => numbered(workflow, 12));
    for (const id of ids) await record(on, id, { workflow: id.slice(0, 1) });
    const shops: Shop[] = [];
    // Deploys in turn: each worker is stopped in the middle of its work, then both versions run side by side.
    for (const version of ["old", "new", "old", "new"] as const) {
      const shop = open(on, code[version], { concurrency: 4 });
      shops.push(shop);
      await on.world.advance(2_000);
      await on.world.run(shop.worker.stop());
    }
    shops.push(open(on, code.old), open(on, code.new));
    const isOpen = async (): Promise<boolean> =>
      (await heads(on.storage)).some(({ status, workflow }) => workflow !== "d" && status !== "completed");
    for (let looks = 0; looks < 600 && (await isOpen()); looks++) await on.world.advance(1_000);
    const found = await heads(on.storage);
    expect(found.map(({ runId, status }) => `${runId} ${status}`).toSorted()).toEqual(
      ids.map((id) => `${id} ${id.startsWith("d") ? "running" : "completed"}`).toSorted(),
    );
    expect(shops.flatMap(({ heard }) => heard).filter(({ runId }) => runId.startsWith("d"))).toEqual([]);
    // A run that the newer code drove and the older one ended has one record too many, and says so.
    expect(
      on.world.warnings.filter(
        (line) => !/the code did not use: check|the recorded step "check" was not asked for/.test(line),
      ),
    ).toEqual([]);
    const late = durable("d", (ctx) => ctx.step("one", () => "d"));
    const app = createApp({ ...on, workflows: [late] });
    const { outcomes } = await on.world.run(app.sweep());
    expect(
      outcomes.filter(({ status }) => status === "completed"),
      "their worker finds them",
    ).toHaveLength(12);
  },
);
