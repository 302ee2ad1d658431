import { expect, test } from "vitest";
import { Player } from "./player.ts";
import { mark, type Plain, programs } from "./programs.ts";
import type { SiteVisit } from "./site.ts";

/** Each of the six programs under each button, with the calls counted that leave it. */
export function everyProgramTests(site: () => SiteVisit): void {
  async function visit(program: string): Promise<Player> {
    return Player.open(await site().page(), `${site().url}playground?program=${program}`);
  }

  const each = Object.entries(programs);

  test.each(each)("%s survives a crash in each of its steps, with reloads", async (name, plain) => {
    const player = await visit(name);
    const { page } = player;
    let crashes = 0;
    for (let answered = 0; ; answered++) {
      const before = await player.calls();
      await player.press("Run");
      if ((await player.afterReplies(answered)) !== "call") break;
      const lost = await player.open();
      crashes += 1;
      if (answered % 2 === 0) {
        await player.crash();
        expect(await page.locator("[data-lost]").count(), `${name} ${answered}`).toBe(new Set(lost).size);
      } else await reloaded(player);
      await player.press("Continue");
      expect(await player.toTheEnd(), `${name} ${answered}`).toBe(plain.end);
      // Only what was under way is called again.
      expect((await player.calls()) - before, `${name} ${answered}`).toBe(plain.calls + lost.length);
    }
    expect(crashes).toBe(plain.places);
    await page.context().close();
  });

  test.each(each)(
    "%s is forked and edited at each of its outputs, with crashes and reloads, and calls only what is new",
    async (name, plain) => {
      const player = await visit(name);
      const { page } = player;
      await player.press("Run");
      expect(await player.toTheEnd()).toBe(plain.end);
      const [outputs, recorded] = [await player.outputs(), await player.entries()];
      expect(outputs).toEqual(Object.keys(plain.outputs));
      let runs = 1;
      for (const key of outputs)
        for (const way of ["fork", "edit"] as const) {
          await player.select("run-1");
          runs += 1;
          await branch(player, plain, { key, way, crashes: runs % 2 === 0 });
          await reloaded(player);
          expect(await page.locator(".pg-tree li").count(), key).toBe(runs);
        }
      // The run that was forked so often is as it was.
      await player.select("run-1");
      expect(await player.entries()).toEqual(recorded);
      await page.context().close();
    },
  );

  test.each(each)(
    "the code of %s is changed where it is parked: what fits goes on, and what does not is refused by name",
    async (name, { calls, end, change }) => {
      const player = await visit(name);
      const { page } = player;
      const [from, to, call] = change.below;
      const first = await park(player, change.after);
      await reloaded(player);
      await player.write((code) => code.replace(from, to));
      await goOn(player);
      expect(await player.toTheEnd()).toBe(end);
      expect(await player.calls()).toBe(calls + first);
      expect(player.asked.filter((text) => call.test(text))).toHaveLength(1);
      await player.write((code) => code.replace(to, from));

      // Calls that the changed program makes are none, or those that were under way.
      const second = await park(player, change.after);
      const paid = await player.calls();
      const [old, other, named] = change.recorded;
      await player.write((code) => code.replace(old, other));
      await goOn(player);
      await page.locator('[data-state="blocked"][data-busy="false"]').waitFor();
      expect(await player.said()).toContain(named);
      expect((await player.calls()) - paid).toBe(0);

      // With the code that fits, nothing is lost.
      await player.write((code) => code.replace(other, old));
      await player.press("Continue");
      expect(await player.toTheEnd()).toBe(end);
      expect(await player.calls()).toBe(2 * calls + first + second);
      await page.context().close();
    },
  );
}

/** A reload ends the worker, too. The page shows the journal again, and runs nothing. */
async function reloaded(player: Player): Promise<void> {
  const recorded = await player.entries();
  await player.page.reload();
  await player.ready();
  await player.page.locator(".pg-entries > [data-kind]").first().waitFor();
  expect((await player.entries()).slice(0, recorded.length)).toEqual(recorded);
  expect(await player.open()).toEqual([]);
}

interface Branching {
  readonly key: string;
  readonly way: "fork" | "edit";
  readonly crashes: boolean;
}

/** Forks the selected run, counts the calls of the fork, and those that a crash repeats. */
async function branch(player: Player, plain: Plain, { key, way, crashes }: Branching): Promise<void> {
  const { fork, edit, json = `"${mark}"`, isSent } = plain.outputs[key] as Plain["outputs"][string];
  const before = await player.calls();
  player.asked.length = 0;
  if (way === "fork") await player.press(`Fork from here: ${key}`);
  else await player.edit(key, json);
  let lost = 0;
  if (crashes && (await player.next()) === "call") {
    lost = (await player.open()).length;
    await player.crash();
    await player.press("Continue");
  }
  const where = `${way} at ${key}`;
  expect(await player.toTheEnd(), where).toBe(plain.end);
  expect((await player.calls()) - before, where).toBe((way === "fork" ? fork : edit) + lost);
  expect(await player.page.locator(".pg-edited").count(), where).toBe(way === "edit" ? 1 : 0);
  // What comes after an edit works with it.
  expect(
    player.asked.some((text) => text.includes(mark)),
    where,
  ).toBe(way === "edit" && isSent);
}

/** Runs the program up to its wait, or crashes it, after so many answers. Gives how many calls were lost. */
async function park(player: Player, after: number): Promise<number> {
  await player.press("Run");
  let state = await player.next();
  for (let n = 0; n < after; n++) {
    await player.reply();
    state = await player.next();
  }
  if (state === "waiting") return 0;
  const lost = await player.open();
  await player.crash();
  return lost.length;
}

/** Presses the button that goes on. */
async function goOn(player: Player): Promise<void> {
  const waits = await player.page.locator("[data-wait]").count();
  await player.press(waits === 0 ? "Continue" : "Answer");
}
