/** `durable ui`: serves the dashboard on this machine. */

import { once } from "node:events";
import type { App } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { openBrowser } from "../browser.ts";
import { CliError, exit } from "../exit.ts";
import { load } from "../store.ts";

interface DashboardModule {
  readonly serveDashboard: (options: {
    app: App;
    port?: number;
    readOnly: boolean;
    prices?: Prices;
    traceUrl?: string;
    title: string;
  }) => Promise<{ readonly url: string; readonly origin: string; close(): Promise<void> }>;
}

export const ui: Command = {
  usage: "[--port 4777] [--open] [--read-only]",
  summary: "Serves the dashboard on this machine, and prints its address",
  arguments: [0, 0],
  examples: ["durable ui", "durable ui --open --read-only"],
  options: {
    port: { type: "string", short: "p", value: "4777", help: "the next free one is used if it is taken" },
    open: { type: "boolean", help: "opens the browser" },
    "trace-url": {
      type: "string",
      value: "url",
      help: 'links each run to its trace: "https://traces.example.com/{traceId}"',
    },
    "read-only": { type: "boolean", help: "refuses every action" },
  },
  more: [
    "Before the first run there is no journal: the page waits for it.",
    "It listens on loopback only. The address has a token: keep it to yourself.",
  ],
  run: async ({ flags, streams, term, session, json }) => {
    const { app, prices, label } = await session("waits");
    const { serveDashboard } = await load<DashboardModule>(
      "@durable/dashboard/node",
      "@durable/dashboard",
      streams.cwd,
    );
    const [port, traceUrl] = [flags.text("port"), flags.text("trace-url")];
    if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new CliError("--port takes a number.");
    const server = await serveDashboard({
      app,
      title: label,
      readOnly: flags.on("read-only"),
      ...(port === undefined ? {} : { port: Number(port) }),
      ...(prices === undefined ? {} : { prices }),
      ...(traceUrl === undefined ? {} : { traceUrl }),
    });
    if (json) term.raw(`${JSON.stringify({ v: 1, url: server.url, origin: server.origin })}\n`);
    else term.out(server.url);
    term.say(`${label} on ${server.origin}. Ctrl-C ends it.`);
    const forget = flags.on("open") ? openBrowser(server.url, streams) : () => {};
    const { signal } = streams;
    if (signal !== undefined && !signal.aborted) await once(signal, "abort");
    forget();
    await server.close();
    return exit.ok;
  },
};
