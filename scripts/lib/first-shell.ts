/** A terminal in which the first commands of a new user are typed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { folders } from "./first-folders.ts";
import type { Command, Manager } from "./first-managers.ts";

export interface Cell {
  readonly folder: string;
  readonly manager: Manager;
  readonly node: string;
  /** Folder, manager and Node, for people. */
  readonly name: readonly string[];
}

/** Runs commands as in the terminal of a user, who has one Node and one package manager. */
export class Shell {
  readonly cell: Cell;
  readonly #bin: string;
  readonly #home: string;

  constructor(cell: Cell, home: string) {
    this.cell = cell;
    this.#home = join(home, "home");
    this.#bin = join(home, "bin");
    for (const folder of [this.#home, this.#bin]) mkdirSync(folder, { recursive: true });
    const commands = { node: [cell.node], ...cell.manager.commands };
    for (const [name, words] of Object.entries(commands)) {
      const line = words.map((word) => `"${word}"`).join(" ");
      writeFileSync(join(this.#bin, name), `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
    }
  }

  /** Makes the folder of the cell. */
  async prepare(vite: string): Promise<string> {
    const make = folders[this.cell.folder];
    if (make === undefined) throw new Error(`There is no folder ${this.cell.folder}`);
    const { manager } = this.cell;
    return make({ home: this.#home, manager, vite, run: (command, folder) => this.finish(command, folder) });
  }

  start([command = "", ...args]: Command, cwd: string): ChildProcess {
    // Nothing of this workspace is found.
    const inherited = (process.env["PATH"] ?? "")
      .split(delimiter)
      .filter((part) => !part.includes("node_modules"));
    const env = Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(npm_|INIT_CWD|NODE(?!_EXTRA_CA_CERTS)|DURABLE|CI$|COLOR)/i.test(name),
      ),
    );
    const quiet = {
      npm_config_audit: "false",
      npm_config_fund: "false",
      npm_config_update_notifier: "false",
    };
    // The version that a package.json declares is not fetched.
    const asIs = { npm_config_manage_package_manager_versions: "false", YARN_IGNORE_PATH: "1" };
    return spawn(command, args, {
      cwd,
      env: {
        ...env,
        ...quiet,
        ...asIs,
        YARN_ENABLE_TELEMETRY: "0",
        PATH: [this.#bin, ...inherited].join(delimiter),
      },
      stdio: ["ignore", "pipe", "pipe"],
      // A package manager that runs the program gets the signal with it, as from a terminal.
      detached: true,
    });
  }

  async finish(command: Command, cwd: string): Promise<{ out: string; err: string }> {
    const { code, out, err } = await ended(this.start(command, cwd));
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${out}\n${err}`);
    return { out, err };
  }
}

export function stop(child: ChildProcess): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    process.kill(-child.pid, "SIGINT");
}

export async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ["", ""];
  child.stdout?.on("data", (text: Buffer) => (out += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (err += text.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, out, err };
}
