/**
 * H54. Forks and notes, with a build of format 2 and the present one on one storage. Forks of format 2 go the same way in
 * both. Forks that the present build makes are of format 3, whatever they are forks of.
 */

import { durable, type Outcome } from "@durable/core";
import { beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "../support/behaviour-lab.ts";
import { loadFormat2, type Build } from "./support/packed-build.ts";
import { presentBuild as present } from "./support/two-builds-place.ts";
import {
  contentOf,
  processOf,
  siteKinds,
  siteOf,
  tokensOf,
  withoutOrder,
  type Process,
  type Site,
  type SiteKind,
} from "./support/two-builds.ts";

let past: Build;
beforeAll(async () => {
  past = await loadFormat2();
});

const begin = ({ world, flows, host }: Process, id: string): Promise<Outcome<unknown>> =>
  world.run(flows.draft.with(host).run(1, { id }));

async function answer({ world, app }: Process, id: string, value: string): Promise<Outcome<unknown>> {
  await world.advance(60_000);
  const [token = ""] = Object.values(tokensOf(await app.get(id).outcome()));
  const { outcome } = await world.run(app.resume(token, value));
  return outcome!;
}

async function fork(
  by: Process,
  parent: string,
  options: { from?: string; after?: string; edit?: object; id: string },
): Promise<void> {
  const { world, flows, host } = by;
  const run = await world.run(
    flows.draft
      .with(host)
      .fork(parent, { ...options, edit: options.edit as Record<string, unknown> | undefined }),
  );
  await world.run(failureOf(run.result()));
}

/** A run, a fork of it, and a fork of that, all made by the build of format 2. */
async function family(kind: SiteKind, isPresent: (act: number) => boolean) {
  const site = siteOf(kind);
  const [old, now] = [processOf(site, past), processOf(site, present)];
  let act = 0;
  const next = (): Process => (isPresent(act++) ? now : old);
  await begin(old, "parent");
  await answer(next(), "parent", "a");
  await fork(old, "parent", { edit: { text: "edited" }, id: "child" });
  await answer(next(), "child", "b");
  await answer(next(), "parent", "c");
  await fork(old, "child", { from: "more", id: "grandchild" });
  await answer(next(), "grandchild", "d");
  await answer(next(), "child", "e");
  const ids = ["parent", "child", "grandchild"];
  const outcomes = await Promise.all(ids.map((id) => now.app.get(id).outcome()));
  const entries = await Promise.all(ids.map((id) => now.app.get(id).entries()));
  expect(JSON.stringify(await contentOf(now.host.storage))).not.toMatch(/\\"v\\":3|nonce/);
  return { outcomes, entries, ran: [...old.flows.ran, ...now.flows.ran].toSorted() };
}

/** The draft as it is after a change that does not fit its recorded runs. */
const changed = durable("draft", (ctx) => ctx.step("first", () => "not a wait"));

function changedApp(site: Site) {
  return present.core.createApp({ ...processOf(site, present).host, workflows: [changed] });
}

describe.each(siteKinds)("H54 in %s", (kind) => {
  test("forks of format 2 go the same way, whichever builds drive them", async () => {
    const alone = await family(kind, () => false);
    expect(alone.outcomes.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    for (const pattern of [0b11111, 0b10101, 0b01010])
      expect(await family(kind, (act) => ((pattern >> act) & 1) === 1), pattern.toString(2)).toEqual(alone);
  });

  test("a fork that the present build makes of runs of format 2 keeps their work, and has keys and tokens of its own", async () => {
    const site = siteOf(kind);
    const { world } = site;
    const [old, now] = [processOf(site, past), processOf(site, present)];
    await begin(old, "parent");
    const parked = await answer(old, "parent", "a");
    await fork(old, "parent", { from: "more", id: "child" });
    await fork(now, "parent", { after: "more", id: "of-parent" });
    await fork(now, "child", { edit: { more: "edited" }, id: "of-child" });
    await fork(now, "of-child", { from: "more", id: "of-fork" });
    expect(now.flows.ran).toEqual(["of-fork more"]);

    // The build of format 2 refuses the forks by name, and goes on with what they are forks of.
    for (const id of ["of-parent", "of-child", "of-fork"])
      expect(await failureOf(old.app.advance(id))).toMatchObject({ code: "newer-format" });
    const token = tokensOf(parked)["second"] ?? "";
    expect(await world.run(old.app.resume(token, "z"))).toMatchObject({ outcome: { status: "completed" } });
    const { output: parent } = (await old.app.get("parent").outcome()) as { output: Record<string, unknown> };
    await old.app.delete("parent");

    // They read a run that was deleted since, and their tokens are their own.
    expect(await failureOf(now.app.get("parent").outcome())).toMatchObject({ code: "not-found" });
    for (const [id, more] of [
      ["of-parent", parent["more"]],
      ["of-child", "edited"],
      ["of-fork", expect.stringMatching(/^a \w+$/)],
    ] as const) {
      const waiting = tokensOf(await now.app.get(id).outcome())["second"];
      expect(waiting).not.toBe(token);
      const { outcome } = await world.run(now.app.resume(waiting ?? "", id));
      expect(outcome).toMatchObject({ output: { text: parent["text"], first: "a", more, second: id } });
    }
    const { output } = (await now.app.get("of-fork").outcome()) as { output: Record<string, unknown> };
    expect(output["more"]).not.toBe(parent["more"]);
    expect(now.flows.ran).toEqual(["of-fork more"]);
  });

  test.each<[what: string, act: (old: Process, token: string) => Promise<unknown>]>([
    ["drives the run", ({ world, app }) => world.run(app.advance("noted"))],
    ["drives it with an answer", ({ world, app }, token) => world.run(app.resume(token, "a"))],
    ["only adds an answer", ({ world, app }, token) => world.run(app.deliver(token, "a"))],
    ["cancels it", ({ world, app }) => world.run(app.cancel("noted"))],
    ["deletes it", ({ app }) => app.delete("noted")],
  ])("a note about a run of format 2 is void once the build of format 2 %s", async (what, act) => {
    const site = siteOf(kind);
    const { world } = site;
    const [old, now] = [processOf(site, past), processOf(site, present)];
    const token = tokensOf(await begin(old, "noted"))["first"] ?? "";
    const blocked = { status: "blocked", error: { code: "diverged" } };
    expect(await world.run(changedApp(site).advance("noted"))).toMatchObject(blocked);
    expect(await now.app.get("noted").outcome()).toMatchObject(blocked);
    expect((await now.app.list({ status: "blocked" })).runs).toMatchObject([{ runId: "noted" }]);

    // A build without notes reads and lists the run as it is, and leaves the note.
    expect(await old.app.get("noted").outcome()).toMatchObject({ status: "suspended" });
    expect((await old.app.list()).runs).toMatchObject([{ runId: "noted", status: "suspended" }]);
    expect(await now.app.get("noted").outcome()).toMatchObject(blocked);

    await act(old, token);
    expect((await now.app.list({ status: "blocked" })).runs).toEqual([]);
    if (what.startsWith("deletes")) return;
    expect(await now.app.get("noted").outcome()).not.toMatchObject(blocked);
    const heads = (await now.app.list()).runs.map(withoutOrder);
    expect((await old.app.list()).runs).toEqual(heads);
    if (what.startsWith("cancels")) return;
    await world.advance(60_000);
    await world.run(now.app.advance("noted"));
    if (what === "drives the run") await answer(now, "noted", "a");
    expect(await answer(old, "noted", "b")).toMatchObject({ output: { first: "a", second: "b" } });
  });
});
