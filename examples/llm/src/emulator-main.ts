/**
 * The program of the emulator, in a process of its own: the Worker of an example in workerd, with the bindings that its
 * wrangler.jsonc names. Buckets and objects are kept in a folder and outlive this process; queues are kept in memory. Everything
 * that the Worker prints goes to stdout, line by line.
 */

import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { stop as stopBundler } from "esbuild";
import { Log, LogLevel, Miniflare } from "miniflare";
import { bundleWorker, examples } from "./emulator-bundle.ts";
import { readConfig, readVars, toWorkerOptions } from "./emulator-config.ts";
import type { EmulatorOptions } from "./emulator.ts";

class PlainLog extends Log {
  override logWithLevel(level: LogLevel, message: string): void {
    if (level <= this.level) console.log(stripVTControlCharacters(message));
  }

  /** Said below, once, with the port that was found. */
  override logReady(): void {}
}

/** Prints what workerd says once it runs: if it does not start, the error that is thrown says why. */
class Printer {
  #held: string[] | null = [];

  readonly print = (line: string): void => {
    if (this.#held === null) console.log(line);
    else this.#held.push(line);
  };

  release(): void {
    for (const line of this.#held ?? []) console.log(line);
    this.#held = null;
  }
}

async function start({ example, folder, port = 0, vars, flags = [] }: EmulatorOptions): Promise<void> {
  const cwd = join(examples, example);
  const worker = toWorkerOptions(readConfig(cwd));
  const { script } = await bundleWorker(example);
  await stopBundler();
  const printer = new Printer();
  const server = new Miniflare({
    ...worker,
    modules: true,
    script,
    compatibilityFlags: [...worker.compatibilityFlags, ...flags],
    bindings: { ...worker.bindings, ...readVars(cwd), ...vars },
    r2Persist: join(folder, "r2"),
    durableObjectsPersist: join(folder, "objects"),
    host: "127.0.0.1",
    port,
    // Nothing is looked up anywhere.
    cf: false,
    telemetry: { enabled: false },
    // The sweep by hand: GET /cdn-cgi/handler/scheduled.
    unsafeTriggerHandlers: true,
    log: new PlainLog(LogLevel.INFO),
    handleStructuredLogs: ({ message }: { readonly message: string }) => printer.print(message),
    unsafeHandleRuntimeRestart: () => console.log("workerd died and was started again"),
  });
  const { port: found } = await server.ready;
  printer.release();
  console.log(`Ready on http://127.0.0.1:${found}`);
}

function describe(error: Error & { code?: unknown }): string {
  if (error.code !== "ERR_ADDRESS_IN_USE") return error.message;
  return "The port is in use by another program. Stop that program, or choose another port with PORT.";
}

try {
  await start(JSON.parse(process.argv[2] ?? "{}") as EmulatorOptions);
} catch (error) {
  console.error(describe(error as Error));
  process.exit(1);
}
