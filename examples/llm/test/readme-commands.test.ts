/** Every command on the page of an example is run and prints what the page shows, or is left out for a reason. */

import { spawn } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { commandsInReadme, outputInReadme, scriptsInReadme } from "example-llm/readme";
import { Place } from "example-llm/process";
import { afterEach, describe, expect, inject, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Ran {
  readonly code?: number;
  /** What it prints; a server is stopped as soon as it has. */
  readonly says: RegExp;
  readonly serves?: true;
  /** The command whose output the page shows. */
  readonly shown?: true;
}

/** For commands of any page. */
const leftOut: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm (?:install|ci)$/, "installs the workspace, from which the test runs"],
  [/^npm run soak:/, "takes minutes or hours: docs/internals/long-tests.md"],
  [/^npm run test:full$/, "is what runs this"],
];

const commands: Readonly<Record<string, Readonly<Record<string, Ran | string>>>> = {
  "agent-loop": {
    "npm run demo -w example-agent-loop": { says: /sources: rule-of-twelfths\.md/ },
    "npm run demo -w example-agent-loop -- --fresh": { says: /Done: 10 steps ran here/ },
    'npm run demo -w example-agent-loop -- "What is slack water?"': { says: /Done: \d+ steps ran here/ },
  },
  chat: { "npm run chat": { says: /http:\/\/127\.0\.0\.1:\d+/, serves: true } },
  "cloudflare-queue": {
    "npm run demo -w example-cloudflare-queue": "test/demo.full.test.ts",
    "npm run dev -w example-cloudflare-queue": "test/readme.test.ts",
  },
  "cloudflare-worker": {
    "npm run demo -w example-cloudflare-worker": "test/demo.full.test.ts",
    "npm run dev -w example-cloudflare-worker": "test/readme.test.ts",
  },
  "coding-agent": {
    "npm run demo -w example-coding-agent": { says: /^Done: \d+ steps ran here/m, shown: true },
    "npm run demo -w example-coding-agent -- --fresh": { says: /^Done: \d+ steps ran here/m },
    "node --permission --max-old-space-size=192": "test/sandbox.test.ts",
  },
  "deploy-assistant": {
    "npm run demo -w example-deploy-assistant": {
      says: /^Done: \d+ steps ran, \d+ came from the journal after 1 kill -9/m,
      shown: true,
    },
    "npm run dev -w example-deploy-assistant": { says: /^webhook +http/m, serves: true },
    "PORT=8080 node examples/deploy-assistant/.durable/site/staging/current/server.mjs":
      "test/deployment.test.ts",
    "MAY_ASK=ada@example.com,bob@example.com MAY_APPROVE=grace@example.com WEBHOOK_SECRET=... HOST=0.0.0.0":
      "test/serve.test.ts",
  },
  "eval-support-agent": {
    "npm run demo -w example-eval-support-agent": { says: /A threshold was missed/, shown: true },
    "npm run demo -w example-eval-support-agent -- --ci": { code: 1, says: /took 0 model calls, 0 effects/ },
    "npm run demo -w example-eval-support-agent -- --fresh": { says: /80 model calls, 80 effects/ },
  },
  "loan-underwriting": {
    "npm run demo -w example-loan-underwriting": { says: /^The first loan and its decision/m, shown: true },
    "npm run apply -w example-loan-underwriting": { code: 10, says: /^Parked: /m },
    "npm run review -w example-loan-underwriting": { says: /^2 open$/m },
    "npm run review -w example-loan-underwriting -- <token> approve": "test/processes.test.ts",
    "npm run fork -w example-loan-underwriting -- decision": "test/processes.test.ts",
    "npm run fork -w example-loan-underwriting -- credit": "test/processes.test.ts",
    "npm run apply -w example-loan-underwriting -- --fresh": { code: 10, says: /^Parked: /m },
  },
  "vercel-ai-sdk": {
    "npm run demo -w example-vercel-ai-sdk": {
      says: /Provider calls: 3, then 0\. The output is identical\./,
      shown: true,
    },
    "npm run demo:stream -w example-vercel-ai-sdk": { says: /Provider calls: 3, then 0/ },
  },
};

const places: Place[] = [];
afterEach(() => {
  for (const place of places.splice(0)) place.remove();
});

const examples = globSync("examples/*/README.md", { cwd: root }).map(
  (page) => dirname(page).split(/[\\/]/)[1] ?? "",
);

const isLeftOut = (command: string): boolean => leftOut.some(([sign]) => sign.test(command));

test.each(examples)("%s: each command is run, or left out for a reason", (example) => {
  const known = Object.entries(commands[example] ?? {});
  const found = commandsInReadme(example).filter((command) => !isLeftOut(command));
  expect(known.map(([command]) => command).toSorted()).toEqual(found.toSorted());
  // The reason is the test that runs it, or what it is made of.
  const tests = known.flatMap(([, how]) => (typeof how === "string" ? how : []));
  if (scriptsInReadme(example).length > 0) tests.push("test/readme.test.ts");
  for (const file of tests) expect(existsSync(`${root}examples/${example}/${file}`), file).toBe(true);
});

/** Types a command in the root of the repository. */
async function type(
  command: string,
  folder: string,
  { says, serves }: Ran,
): Promise<{ code: number | null; out: string }> {
  const { PATH, HOME } = process.env;
  const child = spawn("bash", ["-c", command], {
    cwd: root,
    env: { PATH, HOME, DURABLE_DIR: folder, DEMO_PACE: "0.05", PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (serves === true && says.test(out)) process.kill(-(child.pid ?? 0), "SIGKILL");
    });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out })));
}

/** A line without what is different each time: times, tokens, addresses, ids, and the width of columns. */
const lasting = (line: string): string =>
  line
    .replaceAll(/\d+(?:\.\d+)? m?s\b/g, "N s")
    .replaceAll(/[a-z2-7]{40,}|[a-z2-7]{8}\.\.\./g, "TOKEN")
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .replaceAll(/\*-[a-z0-9]+-/g, "*-ID-")
    .replaceAll(/\s+/g, " ")
    .trim();

describe.runIf(inject("full"))("what the commands print", () => {
  test.each(Object.keys(commands))("%s", { timeout: 600_000 }, async (example) => {
    const place = new Place(example);
    places.push(place);
    for (const [command, how] of Object.entries(commands[example] ?? {})) {
      if (typeof how === "string") continue;
      const { code, out } = await type(command, place.folder, how);
      expect(out, command).toMatch(how.says);
      if (how.serves !== true) expect(code, command).toBe(how.code ?? 0);
      if (how.shown !== true) continue;
      // Long lines are folded on the page.
      const printed = lasting(out);
      const missing = outputInReadme(example).filter((line) => !printed.includes(lasting(line)));
      expect(missing, command).toEqual([]);
    }
  });
});
