/**
 * The site, with the documentation and the playground:
 *
 *     npm run site                     builds it, and serves it at http://localhost:4173
 *     npm run site -- --build          only builds it, into site/dist: static files for any server
 *     npm run site -- --port 8080
 *
 * It has packages of its own, which are installed at the first use.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pagesFolder, writePages } from "./lib/site-pages.ts";
import { serveSite } from "./lib/site-server.ts";
import { editorWords } from "./lib/site-words.ts";
import { root, run } from "./lib/workspace.ts";

const site = join(root, "site");

const { values } = parseArgs({
  options: { build: { type: "boolean", default: false }, port: { type: "string", default: "4173" } },
});

if (!isInstalled()) {
  console.log("site: its packages are installed first, from site/package-lock.json");
  if (!run("npm", ["ci", "--no-audit", "--no-fund"], site)) process.exit(1);
}
const from = performance.now();
const pages = writePages();
writeFileSync(join(pagesFolder, "words.json"), JSON.stringify(editorWords()));
if (!run("node", [join("node_modules", "vitepress", "bin", "vitepress.js"), "build"], site)) {
  console.error("site: could not be built");
  process.exit(1);
}
console.log(`site: ${pages} pages in site/dist, in ${Math.round((performance.now() - from) / 1000)} s`);
if (!values.build) {
  const { url } = await serveSite(join(site, "dist"), Number(values.port));
  console.log(`site: served at ${url}`);
}

/** The packages that are there are those of the lock file. */
function isInstalled(): boolean {
  const installed = join(site, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  const wanted = versionsIn(join(site, "package-lock.json"));
  const found = versionsIn(installed);
  return (
    [...found].every(([path, version]) => wanted.get(path) === version) && found.has("node_modules/vitepress")
  );
}

function versionsIn(file: string): Map<string, string | undefined> {
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return new Map(
    Object.entries(packages)
      .filter(([path]) => path !== "")
      .map(([path, { version }]) => [path, version]),
  );
}
