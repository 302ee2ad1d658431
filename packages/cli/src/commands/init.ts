/** `durable init`: adds the packages, a first workflow, the file for `durable`, and lines for git and for development. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { appFile } from "../app-file.ts";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { installEnv, managerOf, ownLock, type Manager } from "../managers.ts";
import { copyTemplate, nameOf, versionsIn, type VersionOf } from "../templates.ts";
import { styled } from "../terminal.ts";

const story = `import { pathToFileURL } from "node:url";
import { durable } from "@durable/core";

/** Stands for a model: replace it by a call of yours. */
const model = async (prompt: string): Promise<string> => {
  console.log("model:", prompt);
  await new Promise((resolve) => setTimeout(resolve, 500));
  return prompt.toUpperCase();
};

export const story = durable("story", async (ctx, topic: string) => {
  const plan = await ctx.step("plan", () => model(\`plan \${topic}\`));
  const [moon, sun] = await ctx.parallel([
    (branch) => branch.step("moon", () => model("moon")),
    (branch) => branch.step("sun", () => model("sun")),
  ]);
  return ctx.step("write", () => model(\`\${plan} \${moon} \${sun}\`));
});

// Started as a program: press Ctrl-C half-way and start it again. Finished steps come from the journal.
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  console.log(await story.run("tides", { id: "demo" }));
`;

/** Names that end in .mts run in any folder, whatever the `type` of its package.json is. */
const program = "workflows/story.mts";

const config = `import { createApp } from "@durable/core";
import { story } from "./workflows/story.mts";

export default createApp({ workflows: [story] });
`;

/** Variables of the environment while one develops. */
const developing = ".env.development";

interface Done {
  readonly file: string;
  readonly what: "created" | "changed" | "kept";
}

export const init: Command = {
  usage: "[folder] [--template <name>] [--from <folder>] [--no-install]",
  summary:
    "Adds the packages, a first workflow and the git-ignore line to a project, or makes a project of a template",
  arguments: [0, 1],
  examples: ["durable init", "durable init my-app --template worker"],
  options: {
    template: { type: "string", value: "name", help: "a whole project: chat, edge, next-chat or worker" },
    from: {
      type: "string",
      value: "folder",
      help: "takes the packages from files of npm pack in this folder",
    },
    "no-install": { type: "boolean", help: "changes package.json, and installs nothing" },
  },
  more: [
    "Existing files are kept. Installs with npm, pnpm, yarn or Bun: as `packageManager` or the lock file of the project says,",
    "else with the one that started it.",
  ],
  run: async (context) => {
    const { args, flags, streams, answer } = context;
    const [folder = "."] = args;
    const root = resolve(streams.cwd, folder);
    const template = flags.text("template");
    const versionOf = versionsIn(flags.text("from"), streams.cwd);
    const manager = managerOf(root, streams.env);
    const done =
      template === undefined
        ? firstWorkflow(root, versionOf, manager)
        : copyTemplate(template, root, versionOf).map((file) => ({ file, what: "created" }) as const);
    const lock = ownLock(root, manager);
    if (lock !== null) done.push(create(root, lock, ""));
    const isInstalled = !flags.on("no-install");
    if (isInstalled) install(root, done, manager, context);
    const where = folder === "." ? "" : `cd ${quoted(folder)} && `;
    const first = isInstalled ? where : `${where}${manager.name} install && `;
    answer({
      json: { folder: root, files: done, installed: isInstalled, manager: manager.name },
      text: done.map(({ file, what }) => `${what.padEnd(8)} ${file}`),
      next:
        template === undefined
          ? [`${first}${manager.program(program)}`, `${manager.exec} durable show demo`]
          : [`${first}${template === "worker" ? "cat README.md" : `${manager.name} run dev`}`],
    });
    return exit.ok;
  },
};

function firstWorkflow(root: string, versionOf: VersionOf, manager: Manager): Done[] {
  return [
    addPackages(root, versionOf, manager),
    create(root, program, story),
    configOf(root),
    addLine(root, ".gitignore", ".durable/"),
    // While one develops, what is asked of models can be read. Frameworks load this file in development, too.
    addLine(root, developing, "DURABLE_PROMPTS=1"),
  ];
}

function install(
  root: string,
  done: readonly Done[],
  { name, install: args }: Manager,
  { term, streams }: CommandContext,
): void {
  term.say(styled("dim", `  ${name} install`));
  const { status, error, stdout } = spawnSync(name, args, {
    cwd: root,
    env: { ...process.env, ...streams.env, ...installEnv },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  const byHand = `${name} install by hand.`;
  if (error !== undefined)
    throw installFailed(
      `Could not start ${name}, which this project uses`,
      done,
      `Install it, and run ${byHand}`,
    );
  if (status === 0) return;
  // Here pnpm and Yarn say what is wrong.
  term.say(stdout.trimEnd());
  throw installFailed(`${name} install failed; what it said is above`, done, `Run ${byHand}`);
}

function addPackages(root: string, versionOf: VersionOf, manager: Manager): Done {
  const path = join(root, "package.json");
  const there = existsSync(path);
  mkdirSync(root, { recursive: true });
  const text = there
    ? readFileSync(path, "utf8")
    : JSON.stringify({ name: nameOf(root), private: true, type: "module" });
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
  } catch {
    throw new CliError(`${path} is not valid JSON. Nothing was changed.`);
  }
  const has = { ...manifest.devDependencies, ...manifest.dependencies };
  const missing = (name: string) => (has[name] === undefined ? { [name]: versionOf(name) } : {});
  if (has["@durable/core"] !== undefined && has["@durable/cli"] !== undefined)
    return { file: "package.json", what: "kept" };
  const next = {
    ...manifest,
    scripts: { dev: manager.program(program, `--env-file=${developing}`), ...manifest.scripts },
    dependencies: { ...missing("@durable/core"), ...manifest.dependencies },
    devDependencies: { ...missing("@durable/cli"), ...manifest.devDependencies },
  };
  writeFileSync(path, `${JSON.stringify(next, null, 2)}\n`);
  return { file: "package.json", what: there ? "changed" : "created" };
}

function installFailed(what: string, done: readonly Done[], advice: string): CliError {
  const changed = done.filter((each) => each.what !== "kept").map((each) => `${each.file} (${each.what})`);
  const before = changed.length === 0 ? "No file was changed" : `Done before it: ${changed.join(", ")}`;
  return new CliError(`${what}. ${before}. ${advice}`, { exit: exit.failed, code: "install" });
}

/** A folder as one types it in a shell. */
function quoted(folder: string): string {
  return /^[\w./\\:~@+-]+$/.test(folder) ? folder : JSON.stringify(folder);
}

/** The file for `durable`, if the project has none under any of its names. */
function configOf(root: string): Done {
  const there = appFile(undefined, root);
  return there === null
    ? create(root, "durable.config.mts", config)
    : { file: basename(there), what: "kept" };
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function create(root: string, file: string, text: string): Done {
  const path = join(root, file);
  if (existsSync(path)) return { file, what: "kept" };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return { file, what: "created" };
}

/** Adds a line to a file that has lines. */
export function addLine(root: string, file: string, line: string): Done {
  const path = join(root, file);
  const there = existsSync(path);
  const text = there ? readFileSync(path, "utf8") : "";
  if (text.split(/\r?\n/).some((each) => each.trim().replace(/\/$/, "") === line.replace(/\/$/, "")))
    return { file, what: "kept" };
  writeFileSync(path, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
  return { file, what: there ? "changed" : "created" };
}
