import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { askWorker } from "../../packages/cloudflare/test/support/ask-worker.ts";
import { bundle } from "../../packages/cloudflare/test/support/bundle.ts";
import { bun, deno } from "./support/binaries.ts";

const program = fileURLToPath(new URL("../src/context-program.ts", import.meta.url));

type Look = (() => Promise<unknown>) | null;

function processOf(command: string | null, ...args: string[]): Look {
  if (command === null) return null;
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
  return async () => JSON.parse((await promisify(execFile)(command, [...args, program], { env })).stdout);
}

async function workerd(): Promise<unknown> {
  const worker = new URL("../src/context-worker.ts", import.meta.url);
  return askWorker(await bundle(worker, ["node:async_hooks"]), ["nodejs_compat"]);
}

const source = "--conditions=durable-source";
const runtimes: [string, string, Look][] = [
  ["Node", "Node.js/", processOf(process.execPath, source)],
  ["workerd", "Cloudflare-Workers", workerd],
  ["Bun", "Bun/", processOf(bun, source)],
  ["Deno", "Deno/", processOf(deno, "run", source, "--allow-all")],
];

test.for(runtimes)(
  "the async context of a call is seen in its work on %s",
  { timeout: 300_000 },
  async ([name, agent, look], { skip }) => {
    if (look === null) return skip(`No package of ${name} is installed for this platform.`);
    expect(await look()).toEqual({
      runtime: expect.stringContaining(agent),
      seen: {
        body: "outer",
        step: "outer",
        after: "outer",
        called: "inner, attempt 2",
        stream: ["inner", "inner"],
        branches: ["inner", "inner"],
        misuse: "wrong-context",
      },
    });
  },
);
