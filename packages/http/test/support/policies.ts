/** The policies of docs/guides/operate/who-may-what.md, which tests attack. A test keeps the two equal. */

import { type Action, type App, DurableError, type Verdict } from "@durable/core";

const userOf = (request: Request) => ({ role: request.headers.get("x-role") });
const looks = new Set(["read", "list", "overview", "stream", "report", "schedules", "describe"]);

export function oneTeam(request: Request, { type }: Action): Verdict {
  const { role } = userOf(request);
  if (role === null) return false;
  if (type === "resume" || type === "tokens" || type === "send") return role === "approver";
  return looks.has(type) || role === "operator" || role === "approver";
}

const tenantOf = (request: Request) => request.headers.get("x-tenant") ?? "";

export function byPrefix(request: Request, action: Action): Verdict {
  const tenant = tenantOf(request);
  if (!/^[a-z0-9]+$/.test(tenant)) return false;
  const { type, runId, forkId, schedule, chatId, priority } = action;
  if (type === "describe" || (type === "list" && runId === undefined)) return true;
  if (type === "fork" && forkId === undefined) return false; // a fork of its own id, too
  if (priority !== undefined) return false; // priorities are shared by all
  // The runs of a chat have ids that follow from it, and the handler shows no others.
  const names = chatId === undefined ? [runId, forkId, schedule] : [chatId];
  const named = names.filter((id) => id !== undefined);
  const isOwn = named.length > 0 && named.every((id) => id.startsWith(`${tenant}-`));
  return isOwn && { scope: tenant };
}

const workflowsOf = (request: Request) => (request.headers.get("x-workflows") ?? "").split(",");

export function byWorkflow(app: App) {
  const workflowOf = async (runId: string): Promise<string | null> => {
    try {
      const [first] = await app.get(runId).entries({ limit: 1 });
      return first !== undefined && "workflow" in first ? first.workflow : null;
    } catch (error) {
      if (DurableError.is(error, "not-found")) return null;
      throw error;
    }
  };
  return async (request: Request, action: Action): Promise<Verdict> => {
    const own = workflowsOf(request);
    const { type, workflow, runId, forkId, schedule, priority } = action;
    if (type === "describe" || (type === "list" && runId === undefined)) return true;
    if (forkId !== undefined || priority !== undefined) return false;
    const isOwnRun = async (id: string) => own.includes((await workflowOf(id)) ?? "");
    // A run that is there may have the key of the start. A new id may not be chosen.
    if (type === "start") return own.includes(workflow ?? "") && (runId === undefined || isOwnRun(runId));
    if (workflow !== undefined && !own.includes(workflow)) return false;
    if (runId !== undefined) return isOwnRun(runId);
    return workflow !== undefined && (schedule === undefined || type === "schedules");
  };
}
