/**
 * A program that uses the packages as a user would, written as text because it is compiled and run outside of the
 * workspace. It imports every public name of every entry point, and drives real runs: on the default SQLite file, in
 * a bucket of sealed objects, over HTTP, in the test kit and in the simulator.
 */
import type { PublicEntry } from "./public-names.ts";

/** How a program imports the packages: as an ES module, or as a CommonJS module in one of two ways. */
export type Style = "import" | "require()" | "import()";

/** The only line that the program prints when every check passed. */
export const successLine = "every run went well";

/** The names that the body below uses. */
const used: Readonly<Record<string, readonly string[]>> = {
  "@durable/core": ["createApp", "durable", "type Context", "type Outcome", "type Storage"],
  "@durable/core/remote": ["RemoteStorage"],
  "@durable/core/sqlite": ["SqliteStorage"],
  "@durable/core/folder": ["FolderBucket"],
  "@durable/core/indexeddb": ["IndexedDBBucket"],
  "@durable/core/encryption": ["aesGcm"],
  "@durable/core/storage": ["pageSize", "isDead", "thisProcess"],
  "@durable/core/inspect": ["viewRun", "replayRun"],
  "@durable/core/hooks": ["type Hooks"],
  "@durable/core/clients": ["usageIn"],
  "@durable/core/types": ["type ReceiveOptions"],
  "@durable/cli": ["runCli", "type CliStreams"],
  "@durable/http": ["createHandler", "type Handler"],
  "@durable/http/client": ["createClient"],
  "@durable/http/kit": ["isForeign"],
  "@durable/http/node": ["serve"],
  "@durable/ai-sdk": ["usageOf"],
  "@durable/ai-sdk/chat": ["chatStreamName"],
  "@durable/ai-sdk/chat-client": ["durableChatTransport"],
  "@durable/postgres": ["PostgresStorage"],
  "@durable/dashboard": ["exportRun"],
  "@durable/dashboard/node": ["serveDashboard"],
  "@durable/otel": ["telemetry"],
  "@durable/evals": ["evaluate"],
  "@durable/s3": ["s3Bucket", "type S3Options"],
  "@durable/cloudflare": ["createBudget"],
  "@durable/simulator": ["explore"],
  "@durable/testing": ["crashEverywhere"],
  "@durable/testing/parts": ["isSource"],
};

const body = `
  const greet = durable("greet", async (ctx: Context, name: string) => {
    const draft = await ctx.step("draft", () => "hello " + name);
    return ctx.step("polish", () => draft + "!");
  });
  const expectHello = (outcome: Outcome<string>, recorded: boolean): void => {
    if (outcome.status !== "completed" || outcome.output !== "hello Ada!" || outcome.recorded !== recorded)
      throw new Error("The outcome is " + JSON.stringify(outcome));
  };

  expectHello(await greet.run("Ada", { id: "by-default" }), false);
  expectHello(await greet.run("Ada", { id: "by-default" }), true);
  const home = process.env["DURABLE_DIR"] ?? "";
  if (!existsSync(home + "/journal.db")) throw new Error("There is no journal.db in " + home);

  const file: Storage = new SqliteStorage({ path: home + "/another.db" });
  expectHello(await greet.with({ storage: file }).run("Ada", { id: "in-a-file" }), false);
  const sealed = greet.with({
    storage: new RemoteStorage(new FolderBucket(home + "/bucket")),
    secret: "a secret for resume tokens, which is long enough",
    encryption: aesGcm({ current: "k1", keys: { k1: "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY" } }),
  });
  expectHello(await sealed.run("Ada", { id: "in-a-bucket" }), false);
  if (new IndexedDBBucket("runs").name !== "runs") throw new Error("The bucket has another name.");

  const app = createApp({ workflows: [greet] });
  const handler: Handler = createHandler(app, { authorize: () => true });
  const server = await serve(handler);
  const reply = await fetch(server.url + "/runs/by-default");
  if (isForeign(new Request(server.url))) throw new Error("A program is not a page.");
  const read = (await reply.json()) as { readonly output?: unknown };
  const client = createClient<typeof app>({ url: server.url });
  const told: string = await (await client.start("greet", "Ada", { id: "by-client" })).result();
  // @ts-expect-error There is no such workflow.
  void (() => client.start("great", "Ada"));
  // @ts-expect-error The input is a text.
  void (() => client.start("greet", 7));
  await server.close();
  if (read.output !== "hello Ada!") throw new Error("The reply is " + JSON.stringify(read));
  if (told !== "hello Ada!") throw new Error("The client got " + told);

  const said: string[] = [];
  const output = { write: (text: string) => said.push(text) };
  const streams: CliStreams = { stdout: output, stderr: output, stdin: process.stdin, env: process.env, cwd: home };
  const status = await runCli(["show", "by-default", "--json", "--store", home], streams);
  if (status !== 0 || !said.join("").includes("hello Ada!")) throw new Error("durable show said " + said.join(""));

  // It connects at its first call.
  const postgres: Storage = new PostgresStorage("postgres://localhost/journal");
  await postgres.close?.();
  if (pageSize(7) !== 7 || isDead(thisProcess)) throw new Error("This process is dead.");

  const page = await serveDashboard({ app, port: 0 });
  const script = await (await fetch(page.origin + "/app.js")).text();
  await page.close();
  const html = await exportRun(app, "by-default");
  if (script.length < 10_000 || !html.includes("hello Ada!")) throw new Error("The dashboard has no page.");

  const observed = telemetry();
  expectHello(await greet.with({ hooks: observed.hooks }).run("Ada", { id: "observed" }), false);
  await crashEverywhere(greet, { input: "Ada" });
  await explore(greet, { input: "Ada", seeds: 1 });
  if (!isSource(["a chunk"])) throw new Error("A list is not a source of chunks.");
  const seen = viewRun(await greet.get("by-default").entries());
  if (seen.rows.length !== 2) throw new Error("The view has " + seen.rows.length + " rows.");
  const { verdict } = await replayRun(app, "by-default");
  if (verdict !== "same") throw new Error("The replay was " + verdict);
  const report = await evaluate(app, {
    name: "exclaim",
    runs: ["by-default"],
    from: "polish",
    variants: [{ name: "as it was", version: "1" }],
    score: { loud: ({ after }) => String(after.output).endsWith("!") },
  });
  if (!report.passed || report.variants[1]?.same !== 1) throw new Error("The eval says " + report.text());
  const { steps } = usageOf(await greet.get("by-default").entries());
  const options: S3Options = { bucket: "journal", accessKeyId: "id", secretAccessKey: "key" };
  const budget = createBudget({ operations: 1 });
  budget.count(s3Bucket(options));
  if (!durableChatTransport().resumeStreamIsReplay) throw new Error("The transport does not replay.");
  if (steps.length !== 0 || budget.operations !== 0 || chatStreamName !== "chat")
    throw new Error("Something was counted: " + JSON.stringify({ steps, operations: budget.operations }));
`;

/** The files of one program, by name; the first one is the one to run. */
export function programFiles(entries: readonly PublicEntry[], style: Style): Record<string, string> {
  const [source, output] = style === "import" ? ["mts", "mjs"] : ["cts", "cjs"];
  const lists = entries.map((_, i) => [`names${i}`, `./names-${i}.${output}`] as const);
  const imports = Object.entries(used).map(([specifier, names]) => importNames(specifier, names, style));
  const main = [
    'import { existsSync } from "node:fs";',
    ...imports.map(({ outside }) => outside),
    ...lists.map(([name, path]) => `import { values as ${name} } from "${path}";`),
    "",
    "async function main(): Promise<void> {",
    ...imports.map(({ inside }) => inside),
    `  for (const values of await Promise.all([${lists.map(([name]) => name).join(", ")}]))`,
    "    for (const [name, value] of Object.entries(values))",
    '      if (value === undefined) throw new Error(name + " is undefined");',
    body,
    `  console.log(${JSON.stringify(successLine)});`,
    "}",
    "",
    "void main();",
  ];
  const names = entries.map((entry, i) => [`names-${i}.${source}`, nameList(entry, style)] as const);
  return { [`main.${source}`]: `${main.join("\n")}\n`, ...Object.fromEntries(names) };
}

/** The shortest program that a compiler must refuse when it does not allow require() of ES modules. */
export const refusedFiles: Readonly<Record<string, string>> = {
  "main.cts": 'import { durable } from "@durable/core";\nexport const flow = durable;\n',
};

type Import = { readonly outside: string; readonly inside: string };

function importNames(specifier: string, names: readonly string[], style: Style): Import {
  if (style !== "import()")
    return { outside: `import { ${names.join(", ")} } from "${specifier}";`, inside: "" };
  const types = names.filter((name) => name.startsWith("type ")).map((name) => name.slice("type ".length));
  const values = names.filter((name) => !name.startsWith("type "));
  return {
    outside: types.length === 0 ? "" : `import type { ${types.join(", ")} } from "${specifier}"${asImport};`,
    inside: `  const { ${values.join(", ")} } = await import("${specifier}");`,
  };
}

/** Without this, a CommonJS file looks up types the way require() would. */
const asImport = ' with { "resolution-mode": "import" }';

/** A module that imports every public name of an entry point. */
function nameList({ specifier, names }: PublicEntry, style: Style): string {
  const list = (kind: string): string =>
    names
      .filter((name) => name.kind === kind)
      .map(({ name }) => name)
      .join(", ");
  const values = list("value");
  const types = `export type { ${list("type")} } from "${specifier}"${style === "import()" ? asImport : ""};\n`;
  if (style === "import()")
    return `${types}export const values = import("${specifier}").then(({ ${values} }) => ({ ${values} }));\n`;
  return `${types}import { ${values} } from "${specifier}";\nexport const values = { ${values} };\n`;
}
