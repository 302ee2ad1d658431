import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { join } from "node:path";
import { exitOfCode } from "../src/exit.ts";
import { tableOf } from "../src/commands/explain.ts";
import { countText } from "@durable/core/inspect";
import { duration, money } from "../src/text/format.ts";
import { fit, padEnd, widthOf } from "../src/text/width.ts";
import { Project } from "./support/lab.ts";

let project: Project;
beforeEach(async () => {
  project = await Project.withRuns();
});
afterEach(() => project.remove());

const escape = "\u001B[";

describe("colour and characters", () => {
  test("colours only on a terminal, unless they are forced or refused", async () => {
    const colored = async (env: Record<string, string>, tty: boolean, ...more: string[]) =>
      (await project.cli(["ls", ...more], { env, ...(tty ? { types: [] } : {}) })).out.includes(escape);
    expect(await colored({ NO_COLOR: "" }, true)).toBe(true);
    expect(await colored({ NO_COLOR: "" }, false)).toBe(false);
    expect(await colored({ NO_COLOR: "1" }, true)).toBe(false);
    expect(await colored({ NO_COLOR: "", FORCE_COLOR: "1" }, false)).toBe(true);
    expect(await colored({ NO_COLOR: "", FORCE_COLOR: "0" }, true)).toBe(false);
    expect(await colored({ NO_COLOR: "", TERM: "dumb" }, true)).toBe(false);
    expect(await colored({ NO_COLOR: "", FORCE_COLOR: "1" }, true, "--no-color")).toBe(false);
  });

  test("uses ASCII alone where the locale is not UTF-8, or on request", async () => {
    for (const [env, args] of [
      [{ LANG: "C" }, []],
      [{ LANG: "de_DE.ISO-8859-1" }, []],
      [{ LC_ALL: "C", LANG: "C.UTF-8" }, []],
      [{}, ["--ascii"]],
    ] as const) {
      for (const command of [["show", "tides-2"], ["ls"], ["tree", "tides-1"], ["diff", "tides-2"]]) {
        const { out, err } = await project.cli([...command, ...args], { env });
        // oxlint-disable-next-line no-control-regex
        expect(`${out}${err}`.replaceAll("…", "")).toMatch(/^[\u0000-\u007F]*$/);
      }
    }
  });

  test("no line is wider than the terminal", async () => {
    for (const columns of ["60", "80", "120", "160"])
      for (const command of [["show", "tides-1", "--prices", "prices.json"], ["show", "tides-2"], ["ls"]]) {
        const { out } = await project.cli(command, { env: { COLUMNS: columns } });
        const rows = out.split("\n").filter((line) => /^( [✓↺⏾⫶├└]|[✓✗⏸■])/.test(line));
        expect(rows.length).toBeGreaterThan(3);
        for (const line of rows) expect(widthOf(line), line).toBeLessThanOrEqual(Number(columns));
      }
  });

  test("--quiet leaves out what is not data", async () => {
    const { out, err } = await project.cli(["show", "tides-1", "-q"]);
    expect(err).toBe("");
    expect(out).toContain("tides-1");
  });

  test.each([
    [
      "all at once",
      "\u001B]0;owned\u0007\u001B[2J\u001B[1A\u009B31m\u202Egnp.exe\r\nfake line \uE00031\uE001red \uE0008\uE001hidden \u061C\u200B\u{E0041}",
    ],
    ["a link", "\u001B]8;;http://evil\u001B\\click\u001B]8;;\u001B\\ \u009D8;;http://evil\u009C"],
    ["marks in parts", "\uE000\uE00131\uE0008\uE001\uE001 \uE0008 \uE001"],
    ["a string that never ends", "\u001BPq\u0090\u001BX\u0098\u001B^\u009E\u001B_\u009F"],
    ["characters over each other", "approve\b\b\b\b\b\b\bdeny   \u007F\u000B\u000C\r✓ approved"],
    ["directions inside of directions", "\u2066\u2067\u2068\u202D\u202Eabc\u2069\u202C \u200E\u200F"],
    ["half a pair", "\uD800\u001B\uDC00[31m\uDB40\uDC41"],
  ])(
    "text of journals cannot move the cursor, set the title or turn the writing around: %s",
    async (_, hostile) => {
      const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
      const flow = durable(
        "hostile",
        async (ctx) => {
          await ctx.step("say", () => hostile);
          throw Object.assign(new Error(hostile), { name: "Oops\n✓ approved by ops" });
        },
        { storage },
      );
      await flow.run(undefined, { id: "hostile" });
      await storage.close();
      for (const command of [
        ["show", "hostile"],
        ["show", "hostile", "--step", "say"],
        ["show", "hostile", "--journal"],
        ["tail", "hostile", "--no-follow"],
        ["export", "hostile", "--format", "md"],
        ["ls"],
        ["diff", "hostile", "hostile"],
        ["show", "hostile", "--json"],
        ["ls", "--json"],
      ]) {
        const { out, err } = await project.cli(command, {
          env: { NO_COLOR: "", FORCE_COLOR: "1" },
          types: [],
        });
        if (command.includes("--json")) expect(() => JSON.parse(out) as unknown).not.toThrow();
        else expect(out, "marks").not.toMatch(/[\uE000\uE001]/);
        expect(out, "concealed").not.toContain("\u001B[8m");
        expect(`${out}${err}`, "a line of its own").not.toMatch(/^✓ approved/m);
        // oxlint-disable-next-line no-control-regex
        const text = `${out}${err}`.replaceAll(/\u001B\[[\d;]*m/g, "");
        expect(text).not.toMatch(
          // oxlint-disable-next-line no-control-regex
          /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069\u061C\u200B]|[\u{E0000}-\u{E007F}]/u,
        );
      }
    },
  );
});

test("exit codes are those of the table of errors", () => {
  const rows = tableOf(readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8"));
  expect(rows.length).toBeGreaterThan(35);
  for (const { code, exit } of rows) expect([code, exitOfCode(code)]).toEqual([code, exit]);
});

test("every error code has an explanation", async () => {
  const { codes } = (await project.json(["explain"])) as { codes: { code: string }[] };
  for (const { code } of codes) {
    const { text } = (await project.json(["explain", code])) as { text: string };
    expect(text.length, code).toBeGreaterThan(40);
    expect(text).not.toContain("](");
  }
  expect((await project.cli(["explain", "diverge"])).err).toContain("Did you mean diverged");
});

test("texts for times, amounts and widths", () => {
  expect([0, 999, 1_000, 59_999, 60_000, 192_000, 5_400_000, 187_200_000].map(duration)).toEqual([
    "0ms",
    "999ms",
    "1.0s",
    "1m",
    "1m",
    "3m 12s",
    "1h 30m",
    "2d 4h",
  ]);
  expect([7, 950, 6_100, 999_949, 1_234_567].map(countText)).toEqual(["7", "950", "6.1k", "999.9k", "1.2M"]);
  expect([null, 0, 0.0402, 12.5].map(money)).toEqual(["", "$0.00", "$0.0402", "$12.50"]);
  expect([widthOf("日本"), widthOf("e\u0301"), widthOf("⏸ x")]).toEqual([4, 1, 3]);
  expect(fit("日本語", 5)).toBe("日本…");
  expect(padEnd("日", 4)).toBe("日  ");
});
