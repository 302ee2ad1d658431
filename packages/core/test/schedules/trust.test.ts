/** What a row of a schedule, or a run under the id of a tick, can make a worker do: nothing that the app did not ask for. */

import { createApp, durable, type App } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { scheduleLab, hourMs, minuteMs, type ScheduleLab } from "./lab.ts";

const keys = { a: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };

/** An app with encryption whose warnings are kept. */
function sealedLab(): ScheduleLab & { readonly app: App; readonly effects: string[] } {
  const lab = scheduleLab();
  const effects: string[] = [];
  const pay = durable("pay", async (ctx, input: { to: string }) => {
    await ctx.step("send", () => effects.push(`paid ${input.to}`), {
      compensate: () => void effects.push(`refunded ${input.to}`),
    });
    await ctx.suspend("go");
  });
  const { storage, world } = lab;
  const secret = "a secret for tests, of no worth";
  const encryption = aesGcm({ current: "a", keys });
  const app = createApp({
    storage,
    world,
    secret,
    encryption,
    workflows: [lab.digest, lab.waiting, pay],
    patience: 0,
    bind: false,
  });
  return { ...lab, app, effects };
}

type Text = Record<string, unknown>;

async function edit(lab: ScheduleLab, name: string, change: (text: Text) => Text): Promise<void> {
  const row = await lab.storage.schedules.get(name);
  if (row === null) throw new Error(`no schedule ${name}`);
  const text = JSON.stringify(change(JSON.parse(row.text) as Text));
  await lab.storage.schedules.put({ ...row, text, dueAt: 0 }, row.version);
}

describe("with encryption, a changed row starts and ends nothing", () => {
  const edits: Readonly<Record<string, (text: Text) => Text>> = {
    "ticks every second": (text) => ({ ...text, timing: { every: 1_000, from: 0 }, missed: "all" }),
    "missed ticks are made up for": (text) => ({ ...text, missed: "all", after: 0 }),
    "a tick that is due": (text) => ({ ...text, after: 0 }),
    "a pending tick": (text) => ({
      ...text,
      pending: { at: 0, runId: "daily-19700101T000000Z", cancels: null },
    }),
    "another workflow's input": (text) => ({ ...text, input: { to: "attacker" }, isSealed: false }),
    "no seal": (text) => ({ ...text, after: 0, seal: undefined }),
    "an empty seal": (text) => ({ ...text, after: 0, seal: "" }),
    "an overlap": (text) => ({ ...text, overlap: "cancel", after: 0 }),
    "a pause that ends": (text) => ({ ...text, paused: false, after: 0 }),
  };
  test.each(Object.keys(edits))("%s", async (name) => {
    const lab = sealedLab();
    const { app } = lab;
    await app.schedule("daily", lab.digest, { cron: "0 9 1 1 *", input: 5 });
    if (name.includes("pause")) await app.schedules.pause("daily");
    await lab.world.advance(hourMs);
    await edit(lab, "daily", edits[name] as (text: Text) => Text);
    expect(await app.schedules.fire()).toEqual([]);
    expect(lab.world.warnings.join()).toMatch(
      /schedule daily could not start its run.*tampered|changed without the key/,
    );
    expect(await lab.runs()).toEqual({});
    await expect(app.schedules.get("daily")).rejects.toMatchObject({ code: "tampered" });
    // The way out that the error names.
    await app.schedules.delete("daily");
    await app.schedule("daily", lab.digest, { cron: "0 9 1 1 *", input: 5 });
    expect((await app.schedules.get("daily")).name).toBe("daily");
  });

  test("a row is not moved to another name or workflow", async () => {
    const lab = sealedLab();
    await lab.app.schedule("hourly", lab.digest, { every: "1h", input: 1 });
    const row = await lab.storage.schedules.get("hourly");
    for (const changed of [{ name: "other" }, { workflow: "waiting" }]) {
      const moved = { ...(row as NonNullable<typeof row>), ...changed };
      const before = await lab.storage.schedules.get(moved.name);
      await lab.storage.schedules.put({ ...moved, version: "x", dueAt: 0 }, before?.version ?? null);
      await lab.world.advance(2 * hourMs);
      for (const id of await lab.app.schedules.fire()) expect(id).toMatch(/^hourly-/);
    }
    expect((await lab.app.list({ workflow: "waiting" })).runs).toEqual([]);
  });

  test("a reader without the key still lists, and an untouched schedule fires", async () => {
    const lab = sealedLab();
    await lab.app.schedule("hourly", lab.digest, { every: "1h", input: 1 });
    const { schedules } = await lab.open().schedules.list();
    expect(schedules).toMatchObject([{ name: "hourly", every: hourMs }]);
    await lab.world.advance(hourMs + minuteMs);
    expect(await lab.app.schedules.fire()).toHaveLength(1);
  });
});

describe("a row names runs of its own ticks alone", () => {
  const ids = { victim: "v-1", tick: "hourly-20261116T080000Z" };
  test.each([
    { pending: { at: 0, runId: ids.tick, cancels: ids.victim } },
    { pending: { at: 0, runId: "mine", cancels: null } },
    { pending: { at: Number.MAX_VALUE, runId: "mine", cancels: null } },
    { last: { at: 0, runId: ids.victim } },
  ])("%j, without encryption", async (change) => {
    const lab = scheduleLab();
    const app = lab.open();
    await app.start("waiting", 1, { id: ids.victim });
    await lab.world.run(
      app
        .get(ids.victim)
        .result()
        .catch(() => {}),
    );
    await app.schedule("hourly", lab.waiting, { every: "1h", overlap: "cancel", input: 1 });
    await edit(lab, "hourly", (text) => ({ ...text, ...change }));
    expect(await app.schedules.fire()).toEqual([]);
    expect(lab.world.warnings.join()).toMatch(/not one of its ticks/);
    expect(await lab.runs()).toEqual({ [ids.victim]: "suspended" });
  });
});

describe("a run under the id of a tick", () => {
  test("that another one started is not the tick: the tick starts under a longer id, and says so", async () => {
    const lab = scheduleLab("2026-11-16T08:00Z");
    const app = lab.open();
    await app.schedule("nightly", lab.digest, { every: "1h", input: "backup" });
    for (const workflow of ["waiting", "digest"] as const) {
      const at = workflow === "waiting" ? "T090000Z" : "T100000Z";
      await app.start(workflow, "stranger", { id: `nightly-20261116${at}` });
      await lab.world.run(
        app
          .get(`nightly-20261116${at}`)
          .result()
          .catch(() => {}),
      );
    }
    for (const time of ["2026-11-16T09:00:01Z", "2026-11-16T10:00:01Z"]) {
      await lab.to(time);
      const [id = ""] = await app.schedules.fire();
      expect(id).toMatch(/^nightly-20261116T(09|10)0000Z-.+/);
      expect(await lab.world.run(app.get(id).result())).toBe("backup");
      expect((await app.schedules.get("nightly")).lastRunId).toBe(id);
    }
    expect(lab.world.warnings.filter((text) => text.includes("did not start it"))).toHaveLength(2);
    // Once each: another look finds nothing to do.
    expect(await app.schedules.fire()).toEqual([]);
  });

  test("with the same workflow and input is a stranger's, too", async () => {
    const lab = scheduleLab("2026-11-16T08:00Z");
    const app = lab.open();
    await app.schedule("nightly", lab.digest, { every: "1h", input: 1 });
    await app.start("digest", 1, { id: "nightly-20261116T090000Z" });
    await lab.to("2026-11-16T09:00:01Z");
    expect(await app.schedules.fire()).toHaveLength(1);
  });

  test("that a stranger started is not cancelled by the next tick", async () => {
    const lab = scheduleLab("2026-11-16T08:00Z");
    const app = lab.open();
    await app.schedule("hourly", lab.waiting, { every: "1h", overlap: "cancel", input: 1 });
    await lab.to("2026-11-16T09:00:01Z");
    const [first = ""] = await app.schedules.fire();
    await app.delete(first);
    await app.start("waiting", "stranger", { id: first });
    await lab.world.run(
      app
        .get(first)
        .result()
        .catch(() => {}),
    );
    await lab.to("2026-11-16T10:00:01Z");
    expect(await app.schedules.fire()).toHaveLength(1);
    expect(await lab.runs()).toMatchObject({ [first]: "suspended" });
  });

  test("of a tick in a later chapter is still its run", async () => {
    const lab = scheduleLab("2026-11-16T08:00Z");
    const long = durable("long", async (ctx, input: number): Promise<void> => {
      if (input === 0) return ctx.continueAs(1);
      await ctx.suspend("go");
    });
    const { storage, world } = lab;
    const secret = "a secret for tests, of no worth";
    const app = createApp({ storage, world, secret, workflows: [long], bind: false });
    await app.schedule("hourly", long, { every: "1h", overlap: "cancel", input: 0 });
    await lab.to("2026-11-16T09:00:01Z");
    const [first = ""] = await app.schedules.fire();
    await lab.world.run(
      app
        .get(first)
        .result()
        .catch(() => {}),
    );
    await lab.to("2026-11-16T10:00:01Z");
    await app.schedules.fire();
    expect(await lab.runs()).toMatchObject({ [first]: "cancelled" });
  });
});
