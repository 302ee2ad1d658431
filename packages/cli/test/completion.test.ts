/** Completion in the shell, with a real bash; and the examples that the help shows. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable as define } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, inject, test } from "vitest";
import { parse } from "../src/cli.ts";
import { commands } from "../src/commands/index.ts";
import { scripts } from "../src/commands/completion.ts";
import { globalOptions } from "../src/options.ts";
import { Project } from "./support/lab.ts";
import { bin } from "./support/process.ts";

/** What the script completes a line to, in a bash that has the command, and a folder with runs. */
function completed(line: string, folder: string, shell = "bash"): string[] {
  const bins = join(folder, "bins");
  mkdirSync(bins, { recursive: true });
  writeFileSync(
    join(bins, "durable"),
    `#!/bin/sh\nexec "${process.execPath}" --conditions=durable-source "${bin}" "$@"\n`,
    { mode: 0o755 },
  );
  writeFileSync(join(bins, "script"), scripts[shell] ?? "");
  const run = (script: string, args: string[] = []): string =>
    execFileSync("bash", ["-c", script, "bash", ...args], {
      encoding: "utf8",
      cwd: folder,
      env: { ...process.env, PATH: `${bins}:${process.env["PATH"]}` },
    });
  if (shell !== "bash")
    return run('durable completion "$1" --line="$2"', [shell, line]).split("\n").slice(0, -1);
  // As bash cuts words: also before and after "=" and ":".
  const ask = `. bins/script
    COMP_LINE="$1"; COMP_POINT=\${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _durable
    [ \${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`;
  const words = line.split(/\s+|([=:])/).filter((word) => word !== undefined && word !== "");
  if (/[\s=:]$/.test(line)) words.push("");
  return run(ask, [line, ...words])
    .split("\n")
    .slice(0, -1);
}

test.runIf(inject("full"))(
  "bash completes commands, options, runs, their steps, and values of filters",
  async () => {
    const lab = await Project.withRuns();
    // Nothing of the folder runs when a key is pressed.
    writeFileSync(join(lab.folder, "durable.config.ts"), "throw new Error('this ran');\n");
    const complete = (line: string): string[] => completed(line, lab.folder);
    expect(complete("durable re")).toEqual(["resume", "retry", "replay"]);
    expect(complete("durable fork --from")).toEqual(["--from", "--from-failure"]);
    expect(complete("durable show @f")).toEqual(["@failed"]);
    expect(complete("durable show ti")).toEqual(["tides-2", "tides-1"]);
    expect(complete("durable fork tides-1 --from search[w")).toEqual(["search[web]", "search[web]/fetch"]);
    expect(complete("durable ls --status failed,bl")).toEqual(["failed,blocked"]);
    expect(complete("durable ls --workflow ")).toContain("research-brief");
    expect(complete("durable ls --label pro")).toEqual(["prompt-v2"]);
    // Of a word that bash cuts, it replaces the end.
    expect(complete("durable ls --where status:faile")).toEqual(["failed"]);
    expect(complete("durable ls --workflow=leg")).toEqual(["legacy"]);
    expect(complete("durable show nothing")).toEqual([]);
    expect(complete("durable ls --status nope")).toEqual([]);
    expect(completed("durable ls --where status:faile", lab.folder, "zsh")).toEqual(["status:failed"]);
    expect(completed("durable show ti", lab.folder, "fish")).toEqual(["tides-2", "tides-1"]);
    lab.remove();
  },
);

test("completion makes no journal, and what a journal has cannot leave the line", async () => {
  const empty = new Project();
  expect(completed("durable show ", empty.folder).every((word) => word.startsWith("@"))).toBe(true);
  expect(existsSync(join(empty.folder, ".durable"))).toBe(false);
  mkdirSync(join(empty.folder, ".durable"));
  const storage = new SqliteStorage(join(empty.folder, ".durable", "journal.db"));
  const app = createApp({
    storage,
    workflows: [define("flow", (ctx) => ctx.step("$(touch here); *", () => 1))],
  });
  await app.run("flow", null, { id: "r1", tags: { a: "$(touch here)", c: "`touch here`" } });
  await storage.close();
  const complete = (line: string): string[] => completed(line, empty.folder);
  expect(complete("durable show r1 --step ")).toEqual([String.raw`\$\(touch\ here\)\;\ \*`]);
  expect(complete("durable ls --tag ")).toEqual([String.raw`a=\$\(touch\ here\)`, "c=\\`touch\\ here\\`"]);
  expect(existsSync(join(empty.folder, "here"))).toBe(false);
  empty.remove();
});

test("each command has examples, whose options it knows", async () => {
  for (const [name, open] of Object.entries(commands)) {
    const command = await open();
    expect(command.examples, name).not.toEqual([]);
    for (const example of command.examples) {
      const words = example.includes("$(") ? example : example.replaceAll(/"[^"]*"|'[^']*'/g, "text");
      const [line = ""] = /durable [^)|]*/.exec(words) ?? [];
      const [, given, ...rest] = line.trim().split(" ");
      expect(given, example).toBe(name);
      const { positionals } = parse(rest, { ...globalOptions, ...command.options }, name);
      const [least, most] = command.arguments;
      expect(positionals.length, example).toBeGreaterThanOrEqual(least);
      expect(positionals.length, example).toBeLessThanOrEqual(most);
    }
  }
});
