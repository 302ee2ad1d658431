/**
 * The dashboard on this machine: a small server on loopback, with a token of its own. Proven in test/node.test.ts.
 */

import { randomBytes } from "node:crypto";
import { serve, type Server } from "@durable/http/node";
import { createDashboard } from "../dashboard.ts";
import { invalid } from "../errors.ts";
import type { DashboardOptions } from "../options.ts";

/** Options of `serveDashboard`. */
export interface ServeDashboardOptions extends Omit<DashboardOptions, "authorize" | "basePath"> {
  /** The port; the next free one is used if it is taken. 4777 by default, 0 for any. */
  readonly port?: number | undefined;
  /** The address to listen on; loopback by default. Any other address needs `token` and `hosts`. */
  readonly host?: string | undefined;
}

/** A dashboard that is being served. */
export interface DashboardServer {
  /** The address of the page, with the token in its fragment. */
  readonly url: string;
  /** The address without the token. */
  readonly origin: string;
  /** Ends open connections, and then the server. */
  close(): Promise<void>;
}

const firstPort = 4777;
const portsTried = 20;
const loopback = new Set(["127.0.0.1", "::1", "localhost"]);
const anyAddress = new Set(["0.0.0.0", "::"]);

/** Serves the dashboard on loopback, and returns the address to open. */
export async function serveDashboard(options: ServeDashboardOptions): Promise<DashboardServer> {
  const { port = firstPort, host = "127.0.0.1", ...rest } = options;
  const [name] = options.hosts ?? [];
  if (!loopback.has(host) && (options.token === undefined || name === undefined))
    throw invalid(`serveDashboard on ${host} can be reached by others: pass { token, hosts } as well.`);
  const token = options.token ?? randomBytes(32).toString("base64url");
  const dashboard = createDashboard({ ...rest, token });
  const server = await nextFree(port, (free) =>
    // Pages that are open would keep it waiting.
    serve(dashboard, { port: free, hostname: host, closeTimeout: 0, onError: options.onError }),
  );
  const origin = anyAddress.has(host) ? `http://${name}:${server.port}` : server.url;
  return { url: `${origin}/#token=${token}`, origin, close: () => server.close() };
}

async function nextFree(port: number, listen: (port: number) => Promise<Server>): Promise<Server> {
  const last = port === 0 ? 0 : port + portsTried;
  for (let next = port; ; next++) {
    try {
      return await listen(next);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || next >= last) throw error;
    }
  }
}
