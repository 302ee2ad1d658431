// Makes `npx durable` work in this checkout: npm links the command of a package only when its file is there, and that of
// packages/cli is written by a build.
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("durable.mjs", import.meta.url));

/** Links the command into this node_modules, in place of one that a build left there. */
export function linkDurable(modules, platform = process.platform) {
  const bin = join(modules, ".bin");
  mkdirSync(bin, { recursive: true });
  for (const name of ["durable", "durable.cmd", "durable.ps1"]) rmSync(join(bin, name), { force: true });
  if (platform === "win32") {
    const path = relative(bin, command).replaceAll("/", "\\");
    writeFileSync(join(bin, "durable.cmd"), `@node "%~dp0\\${path}" %*\r\n`);
    return;
  }
  // A checkout that was unpacked from an archive may have lost this.
  chmodSync(command, 0o755);
  symlinkSync(relative(bin, command), join(bin, "durable"));
}
