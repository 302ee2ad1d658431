/** A Node server for one test, which closes it. */

import { serve, type Server, type ServeOptions } from "@durable/http/node";
import { onTestFinished } from "vitest";

export async function served(
  handler: Parameters<typeof serve>[0],
  options: ServeOptions = {},
): Promise<Server> {
  const server = await serve(handler, { closeTimeout: 500, ...options });
  onTestFinished(() => server.close());
  return server;
}
