/** What the emulator itself does when workerd dies, and when it cannot start. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { Emulator } from "example-llm/emulator";
import { Place } from "example-llm/process";
import { afterEach, expect, test } from "vitest";
import { emulated } from "../src/emulated.ts";

const place = new Place("cloudflare-queue");
let started: Emulator | null = null;
afterEach(async () => {
  await started?.kill();
  started = null;
  place.remove();
});

const vars = { LEASE_SECONDS: "3", DEMO_PACE: "0", LLM_PROVIDER: "offline" };

/** The workerd of a group of processes, from the system itself where that can be read. */
function workerdIn(group: number): number {
  const lines = existsSync("/proc/self/stat")
    ? readdirSync("/proc").flatMap((name) => {
        try {
          return readFileSync(`/proc/${name}/stat`, "utf8").replace(/ \S \d+ (\d+) .*/s, " $1");
        } catch {
          return [];
        }
      })
    : spawnSync("ps", ["-A", "-o", "pid=,comm=,pgid="], { encoding: "utf8" }).stdout.split("\n");
  const [found] = lines.filter((line) => new RegExp(`workerd\\)? +${group}$`).test(line));
  if (found === undefined) throw new Error("workerd is not found among the processes.");
  return Number.parseInt(found, 10);
}

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  const late = Date.now() + 60_000;
  while (!(await what())) {
    if (Date.now() > late) throw new Error(`Waited 60 s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("workerd that dies is started again on the same port and bucket; the sweep finds the run", async () => {
  const emulator = await Emulator.start({ ...emulated(vars), folder: place.folder });
  started = emulator;
  const { lines } = emulator;
  const look = async (): Promise<unknown> => {
    const { entries } = (await emulator.ask("/runs/rain/entries")).body as {
      readonly entries: readonly { readonly kind: string; readonly key: string }[];
    };
    const steps = entries.flatMap(({ kind, key }) => (kind === "step.completed" ? key : []));
    return { ...((await emulator.ask("/runs/rain")).body as object), steps };
  };
  await emulator.ask("/runs", { workflow: "report", id: "rain", input: { topic: "the rain (crash)" } });
  await until(() => lines.some((line) => line.startsWith("crash: ")));
  process.kill(workerdIn(emulator.pid), "SIGKILL");
  await until(() => lines.some((line) => line.startsWith("workerd died")));

  expect(await look()).toMatchObject({
    status: "running",
    steps: ["plan", "ask"],
  });
  await until(async () => {
    await emulator.ask("/cdn-cgi/handler/scheduled");
    return lines.includes("sweep: 1 due");
  });
  await until(async () => ((await look()) as { status: string }).status !== "running");
  expect(await look()).toMatchObject({
    status: "suspended",
    steps: ["plan", "ask", "draft"],
  });
}, 300_000);

test("a port that is in use is named as the cause, in one line", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const starting = Emulator.start({ ...emulated(vars), folder: place.folder, port });
  await expect(starting).rejects.toThrow(
    /^The emulator did not start:\nThe port is in use by another program\. .*PORT\.$/,
  );
  other.close();
}, 300_000);
