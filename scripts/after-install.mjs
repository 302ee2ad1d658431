// Runs after `npm install`, in plain JavaScript, because the Node that runs it may be old.
// Removes what no script here reads (Node's C headers, source maps of packages: 100 MB), and says which Node
// the scripts use, in one line instead of one warning for each package. And links the command `durable` of this checkout.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linkDurable } from "./link-durable.mjs";
import { isTooOld, neededNode } from "./node-version.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");

/** Links lead to our own packages, and `isDirectory` is false for them. */
function removeMaps(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeMaps(path);
    else if (entry.isFile() && entry.name.endsWith(".map")) rmSync(path);
  }
}

const bundled = readdirSync(modules).filter((name) =>
  /^node-(bin-darwin|darwin|linux|win)-(arm64|x64)$/.test(name),
);
for (const name of bundled) {
  for (const part of ["include", "share"])
    rmSync(join(modules, name, part), { recursive: true, force: true });
}
for (const folder of [
  modules,
  ...readdirSync(join(root, "sdks")).map((sdk) => join(root, "sdks", sdk, "node_modules")),
]) {
  if (existsSync(folder)) removeMaps(folder);
}

linkDurable(modules);

const [, machine = process.versions.node] =
  /\bnode\/v(\S+)/.exec(process.env.npm_config_user_agent ?? "") ?? [];
if (isTooOld(machine)) {
  const works = bundled.some((name) => existsSync(join(modules, name, "bin")));
  console.log(
    works
      ? `Node ${machine} is older than this project needs; its npm scripts run on the Node that came with it.`
      : `Node ${machine} is too old for this project, and no Node came with it for this platform: install Node ${neededNode} or newer.`,
  );
}
