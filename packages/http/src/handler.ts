/**
 * One fetch handler over an app: `(Request) => Promise<Response>`, for any server with the fetch types.
 * Proven in test/runs.test.ts.
 */

import type { Action, App } from "@durable/core";
import { errorResponse } from "./errors.ts";
import { allow, assertOpen, type Handler, type HandlerOptions, type Service, serviceOf } from "./options.ts";
import { only } from "./replies.ts";
import { scheduleOf } from "./request-fields.ts";
import { answerTo, type Call, findRoute } from "./router.ts";
import { byToken, routes } from "./routes.ts";

/**
 * Creates one handler `(Request) => Promise<Response>` with routes to start, read, list, stream, fork and
 * cancel runs, and to answer suspend points by token. It never throws.
 */
export function createHandler(app: App, options: HandlerOptions = {}): Handler {
  const service = serviceOf(app, options);
  return (request) =>
    answerTo(
      request,
      () => respond(service, request),
      (error) => errorResponse(error, service.onError),
    );
}

async function respond(service: Service, request: Request): Promise<Response> {
  const { basePath } = service;
  const known = (path: string): unknown => path === byToken || assertOpen(service);
  const { route, call } = findRoute(routes, request, { basePath, known });
  const { asks, late, act } = route;
  if (asks === null || late !== undefined) return act(service, call);
  const { scope } = await allow(service, request, { ...asks, ...namesIn(call.params) });
  return act(service, { ...call, ...only("scope", scope) });
}

/** What a path names of an action. */
export function namesIn({ runId, topic, schedule, workflow }: Call["params"]): Omit<Action, "type"> {
  return {
    ...only("runId", runId),
    ...only("topic", topic),
    ...only("schedule", schedule === undefined ? schedule : scheduleOf(schedule)),
    ...only("workflow", workflow),
  };
}
