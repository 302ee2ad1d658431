/**
 * The page: built by Vite when it is missing or older than its sources, and served from memory.
 *
 * P1. A build is complete or absent: it is written beside its place and moved there.
 */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const example = fileURLToPath(new URL("..", import.meta.url));
const source = join(example, "page");
const built = join(example, "dist", "page");
/** The files that the build was made of, in the folder of the build. */
const list = "inputs.json";

/** Builds the page if necessary; true if it did. */
export async function buildPage(): Promise<boolean> {
  if (isCurrent()) return false;
  const fresh = `${built}.${process.pid}`;
  const inputs = await build(fresh);
  writeFileSync(join(fresh, list), JSON.stringify(inputs));
  const old = `${built}.${process.pid}.old`;
  if (existsSync(built)) renameSync(built, old);
  try {
    renameSync(fresh, built);
  } catch (error) {
    // Another process built it at the same time.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(built)) throw error;
  }
  rmSync(old, { recursive: true, force: true });
  return true;
}

function isCurrent(): boolean {
  const file = join(built, list);
  if (!existsSync(file)) return false;
  const at = statSync(file).mtimeMs;
  const inputs = JSON.parse(readFileSync(file, "utf8")) as string[];
  return inputs
    .map((path) => join(example, path))
    .every((path) => existsSync(path) && statSync(path).mtimeMs <= at);
}

/** Resolves to the sources that went in, without those of installed packages. */
async function build(outDir: string): Promise<string[]> {
  mkdirSync(outDir, { recursive: true });
  const vite = await import("vite");
  const result = await vite.build({
    root: source,
    configFile: false,
    logLevel: "error",
    esbuild: { jsx: "automatic" },
    resolve: { conditions: ["durable-source", ...vite.defaultClientConditions] },
    build: { outDir, emptyOutDir: true, target: "es2022", reportCompressedSize: false },
  });
  const outputs = (Array.isArray(result) ? result : [result]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  const modules = outputs.flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
  const own = modules.filter((id) => id.includes(sep) && !id.includes("\0") && !id.includes("node_modules"));
  const files = readdirSync(source).map((name) => join(source, name));
  const inputs = new Set([...own.map((id) => id.split("?")[0] ?? id), ...files]);
  return [...inputs].filter((path) => existsSync(path)).map((path) => relative(example, path));
}

interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A handler for the files of the page; they are read once. */
export function pageHandler(): (request: Request) => Response {
  const files = new Map<string, PageFile>();
  for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(`/${path.slice(built.length + 1).replaceAll(sep, "/")}`, {
      bytes: new Uint8Array(readFileSync(path)),
      type,
    });
  }
  return (request) => {
    const { pathname } = new URL(request.url);
    const file = files.get(pathname === "/" ? "/index.html" : pathname);
    if (file === undefined) return new Response("There is no such page.\n", { status: 404 });
    if (request.method !== "GET" && request.method !== "HEAD") return new Response(null, { status: 405 });
    return new Response(file.bytes, { headers: headersOf(file, pathname) });
  };
}

function headersOf({ type }: PageFile, pathname: string): Record<string, string> {
  return {
    "content-type": type,
    // Names of assets contain a hash of their content.
    "cache-control": pathname.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy":
      "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
}
