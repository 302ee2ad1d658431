import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../../packages/cloudflare/test/support/bundle.ts";
import type { Asked, Told } from "../src/story.ts";
import { bun, deno } from "./support/binaries.ts";
import { startStore } from "./support/servers.ts";

const program = fileURLToPath(new URL("../src/program.ts", import.meta.url));
const run = promisify(execFile);

// One bucket for all: by its binding in workerd, and over S3 for the others.
let store: Awaited<ReturnType<typeof startStore>>;
beforeAll(async () => {
  store = await startStore(await bundle(new URL("../src/worker.ts", import.meta.url)));
}, 300_000);
afterAll(() => store.stop());

interface Runtime {
  readonly name: string;
  /** How it begins to name itself. */
  readonly agent: string;
  /** Absent where npm brought no program for this platform. */
  readonly play: ((asked: Asked) => Promise<Told>) | null;
}

function processOf(command: string | null, ...args: string[]): Runtime["play"] {
  if (command === null) return null;
  return async (asked) => {
    const given = [...args, program, JSON.stringify(store.s3), JSON.stringify(asked)];
    const { stdout } = await run(command, given, { env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" } });
    return JSON.parse(stdout) as Told;
  };
}

const runtimes: readonly Runtime[] = [
  { name: "Node", agent: "Node.js/", play: processOf(process.execPath, "--conditions=durable-source") },
  {
    name: "workerd",
    agent: "Cloudflare-Workers",
    play: async (asked) => {
      const response = await fetch(store.url, { method: "POST", body: JSON.stringify(asked) });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return JSON.parse(text) as Told;
    },
  },
  { name: "Bun", agent: "Bun/", play: processOf(bun, "--conditions=durable-source") },
  {
    name: "Deno",
    agent: "Deno/",
    play: processOf(deno, "run", "--conditions=durable-source", "--allow-all"),
  },
];

/** The next one that is here: each starts one run, and resumes another's. */
function after(runtime: Runtime): Runtime {
  const at = runtimes.indexOf(runtime) + 1;
  return [...runtimes.slice(at), ...runtimes].find(({ play }) => play !== null) ?? runtime;
}

describe("a run on a bucket", () => {
  test.for(runtimes)(
    "H33 starts and suspends on $name, and goes on where it stood on another runtime",
    { timeout: 300_000 },
    async (from, { skip }) => {
      const { name, play } = from;
      if (play === null) return skip(`No package of ${name} is installed for this platform.`);
      const id = `from-${name}`;
      const started = await play({ type: "start", id, topic: "tides" });
      expect(started).toMatchObject({ outcome: { status: "suspended" }, bodies: ["plan", "head", "tail"] });
      expect(started.runtime).toMatch(from.agent);
      const { outcome } = started;
      if (outcome.status !== "suspended") throw new Error(outcome.status);

      const to = after(from);
      const token = outcome.waiting[0]?.token ?? "";
      const resumed = await to.play!({ type: "resume", id, token, answer: 2 });
      expect(resumed.runtime).toMatch(to.agent);
      const output = `tides on ${started.runtime}, 42, 1000 on ${resumed.runtime}`;
      expect(resumed).toMatchObject({ outcome: { status: "completed", output }, bodies: ["publish"] });
      console.log(
        `${started.runtime} -> ${resumed.runtime}: ${[...started.bodies, ...resumed.bodies].join(", ")}`,
      );
    },
  );
});
