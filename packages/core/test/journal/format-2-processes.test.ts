import { join } from "node:path";
import { afterEach, expect, inject, test } from "vitest";
import { Child, killChildren } from "../support/child-process.ts";
import { memoryFolder, tempFolder } from "../support/sqlite-temp.ts";
import { loadFormat2 } from "./support/packed-build.ts";
import { openPlace, presentBuild as present } from "./support/two-builds-place.ts";
import { tallyOf } from "./support/two-builds-flows.ts";

afterEach(killChildren);

const parts = 8;
const numbers = Array.from({ length: 6 }, (_, n) => n);

test.each(inject("full") ? ["sqlite", "folder"] : ["sqlite"])(
  "H54 processes of two builds share a %s place: each run ends, and each step is recorded once",
  async (kind) => {
    const temp = tempFolder(memoryFolder);
    const path = join(temp.folder, "place");
    const past = await loadFormat2();
    const storages = [past, present].map((build) => openPlace(build, kind, path));
    const [old, now] = [past, present].map((build, n) =>
      build.core.createApp({
        storage: storages[n],
        secret: "any secret, of no worth",
        workflows: [tallyOf(build.core, () => {})],
      }),
    );
    for (const n of numbers) {
      await old?.start("tally", parts, { id: `old-${n}`, drive: false });
      await now?.start("tally", parts, { id: `now-${n}`, drive: false });
    }
    const start = (which: string): Child => new Child("format-2-child.ts", [which, kind, path]);
    // One of each is killed while it drives; then one of each ends what is left.
    const children: Child[] = [];
    for (const which of ["past", "present"]) {
      const doomed = start(which);
      await doomed.line("body", 5);
      await doomed.kill();
      children.push(doomed);
    }
    children.push(start("past"), start("present"));
    const ended = async (): Promise<number> => (await now!.list({ status: "completed" })).runs.length;
    while ((await ended()) < numbers.length * 2) await new Promise((resolve) => setTimeout(resolve, 100));

    for (const id of numbers.flatMap((n) => [`old-${n}`, `now-${n}`])) {
      const keys = (await now!.get(id).entries()).flatMap((entry) =>
        entry.kind === "step.completed" ? entry.key : [],
      );
      expect(keys, id).toEqual(Array.from({ length: parts }, (_, n) => `part-${n}`));
      const { output } = (await now!.get(id).outcome()) as unknown as { output: readonly string[] };
      expect(new Set(output).size).toBe(parts);
    }
    const bodies = (child: Child | undefined): string[] =>
      (child?.lines ?? []).filter((line) => line.startsWith("body"));
    for (const child of [children[0], children[2]])
      expect(bodies(child).filter((line) => line.includes(" now-"))).toEqual([]);
    expect(bodies(children[0]).length).toBeGreaterThan(4);
    await killChildren();
    for (const storage of storages) await storage.close?.();
    temp.remove();
  },
);
