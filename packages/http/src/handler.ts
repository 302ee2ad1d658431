/**
 * One fetch handler over an app: `(Request) => Promise<Response>`, for any server with the fetch types.
 * Proven in test/runs.test.ts.
 */

import type { App } from "@durable/core";
import { errorResponse } from "./errors.ts";
import { type Handler, type HandlerOptions, serviceOf } from "./options.ts";
import { routeOf } from "./routes.ts";

/**
 * Creates one handler `(Request) => Promise<Response>` with routes to start, read, list, stream, fork and
 * cancel runs, and to answer suspend points by token. It never throws.
 */
export function createHandler(app: App, options: HandlerOptions = {}): Handler {
  const service = serviceOf(app, options);
  return async (request) => {
    const response = await answer();
    // A HEAD response has no body, and a stream must not continue without a reader.
    if (request.method !== "HEAD" || response.body === null) return response;
    void response.body.cancel().catch(() => {});
    return new Response(null, response);

    async function answer(): Promise<Response> {
      try {
        const { act, call } = routeOf(service, request);
        return await act(service, call);
      } catch (error) {
        return errorResponse(error, service.onError);
      }
    }
  };
}
