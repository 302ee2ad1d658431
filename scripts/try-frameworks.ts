/**
 * Runs the programs of docs/guides/integrate/frameworks.md that need a project of a framework or another runtime, as they stand:
 * SvelteKit and Next.js are installed with the packed packages and built, Bun and Deno are those of the workspace. Each
 * then starts a run over HTTP and gives its output. The other programs of the page run in `npm run docs:check`. Installs
 * much, so it is not a stage. Needs `npm run build`. `npm run try:frameworks -- SvelteKit` takes some of them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createClient } from "@durable/http/client";
import { bun, deno } from "../runtimes/test/support/binaries.ts";
import { npmInstall } from "./lib/installs.ts";
import { packInto } from "./lib/pack.ts";
import { answers, freePort, killAll, must, patienceMs, same, start, tarball } from "./lib/projects.ts";
import { root } from "./lib/workspace.ts";

interface Framework {
  /** The heading of its program on the page. */
  readonly heading: string;
  /** Where the page says that the program goes. */
  readonly file: string;
  readonly basePath: string;
  readonly packages: readonly string[];
  /** The rest of the project. */
  readonly files: Readonly<Record<string, string>>;
  readonly build: readonly string[] | null;
  readonly start: (port: string) => readonly string[];
}

const plain = {
  heading: "Deno and Bun",
  file: "main.ts",
  basePath: "",
  packages: [],
  files: {},
  build: null,
};

const frameworks: Readonly<Record<string, Framework>> = {
  SvelteKit: {
    heading: "SvelteKit",
    file: "src/routes/durable/[...path]/+server.ts",
    basePath: "/durable",
    packages: [
      "@sveltejs/kit@3",
      "@sveltejs/adapter-node@6",
      "@sveltejs/vite-plugin-svelte@7",
      "svelte@5",
      "vite@8",
    ],
    files: {
      "vite.config.js": [
        'import adapter from "@sveltejs/adapter-node";',
        'import { sveltekit } from "@sveltejs/kit/vite";',
        "export default { plugins: [sveltekit({ adapter: adapter() })] };",
      ].join("\n"),
      "src/app.html":
        "<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>",
    },
    build: ["vite", "build"],
    start: () => ["node", "build"],
  },
  "Next.js": {
    heading: "Next.js",
    file: "app/durable/[...path]/route.ts",
    basePath: "/durable",
    packages: ["next@16", "react@19", "react-dom@19", "typescript@5.9", "@types/node@22", "@types/react@19"],
    files: {},
    build: ["next", "build"],
    start: (port) => ["npx", "next", "start", "-H", "127.0.0.1", "-p", port],
  },
  Bun: { ...plain, start: () => [bun ?? "bun", "run", "main.ts"] },
  Deno: {
    ...plain,
    start: (port) => [
      deno ?? "deno",
      "serve",
      "--allow-all",
      "--host",
      "127.0.0.1",
      "--port",
      port,
      "main.ts",
    ],
  },
};

const page = readFileSync(join(root, "docs", "guides", "integrate", "frameworks.md"), "utf8");
const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(frameworks);
let failures = 0;

await packInto(async (tarballs, home) => {
  for (const name of names) {
    try {
      const framework = frameworks[name];
      if (framework === undefined) throw new Error(`There is no program for ${name}.`);
      const folder = make(framework, tarballs, join(home, name));
      console.log(`${name}: ${await drive(framework, folder)}`);
    } catch (error) {
      failures += 1;
      console.error(`${name}: FAILED. ${error instanceof Error ? error.stack : String(error)}`);
    } finally {
      await killAll();
    }
  }
});
console.log(`frameworks: ${names.length} tried, ${failures === 0 ? "all green" : `${failures} FAILED`}`);
process.exitCode = failures === 0 ? 0 : 1;

/** A project with the program of the page, built. */
function make(
  { heading, file, packages, files, build }: Framework,
  tarballs: string,
  folder: string,
): string {
  npmInstall(folder, [...["core", "http"].map((one) => tarball(tarballs, one)), ...packages]);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as object;
  const all = {
    ...files,
    "package.json": JSON.stringify({ ...manifest, type: "module" }),
    [file]: programOf(heading),
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  if (build !== null) must(folder, "npx", build);
  return folder;
}

/** The first program below a heading of the page. */
function programOf(heading: string): string {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const program = /^```ts\n([^]*?)^```$/m.exec(section.split("\n## ")[0] ?? "")?.[1];
  if (program === undefined) throw new Error(`The page has no program for ${heading}.`);
  return program;
}

/** Starts a run over HTTP, waits for its output, and asks for a run that does not exist. */
async function drive(framework: Framework, folder: string): Promise<string> {
  const port = `${freePort()}`;
  start(folder, framework.start(port), { PORT: port, HOST: "127.0.0.1" });
  const url = `http://127.0.0.1:${port}${framework.basePath}`;
  await answers(`${url}/runs`);
  const client = createClient({ url, patienceMs });
  const run = await client.start("greet", "Ada", { id: "greet-1" });
  same(await run.result({ wait: true }), "hello Ada");
  const missing: unknown = await client
    .get("greet-2")
    .outcome()
    .catch((error: unknown) => error);
  same((missing as { readonly code?: unknown }).code, "not-found");
  return `${framework.file} of the page ran as it stands, and gave the output of a run`;
}
