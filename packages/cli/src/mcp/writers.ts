/** Tools that change something: offered only where --allow names their action. */

import type { Action, SuspendPoint } from "@durable/core";
import type { ActionType } from "@durable/core/types";
import { allowFork, plain, wakeRun, type Plain } from "@durable/core/inspect";
import { forkRun } from "../commands/fork.ts";
import { cancelRun } from "../drive.ts";
import { CliError } from "../exit.ts";
import { lookAt } from "../look.ts";
import type { Session } from "../session.ts";
import { forkOptions, forkSchema, runOf, runSchema, schemaOf, text, type Args } from "./kit.ts";
import type { Tool } from "./protocol.ts";

/** What --allow may name. */
export const actions = [
  "resume",
  "fork",
  "wake",
  "cancel",
  "retry",
  "pause",
  "unpause",
  "send",
] as const satisfies readonly ActionType[];
export type Allowable = (typeof actions)[number];

export function writers(session: Session, allowed: ReadonlySet<Allowable>): Tool[] {
  return actions
    .filter((action) => allowed.has(action))
    .map((asks) => ({ ...{ ...driving, ...recording }[asks](session, allowed), asks, readOnly: false }));
}

type Make = (session: Session, allowed: ReadonlySet<Allowable>) => Omit<Tool, "readOnly" | "asks">;

const driving: Record<Exclude<Allowable, keyof typeof recording>, Make> = {
  resume: (session) => ({
    name: "resume_run",
    description: "Answers a suspend point. The answer must fit the schema that list_waits gives.",
    inputSchema: schemaOf(
      {
        run: runSchema,
        key: { type: "string", description: "Which wait, where several are open" },
        value: { description: "The answer" },
      },
      "run",
      "value",
    ),
    call: (args) => answer(session, args),
  }),
  fork: (session, allowed) => ({
    name: "fork_run",
    description:
      "Makes a new run that keeps recorded work of another, and drives it to its next stop. Call plan_fork first.",
    inputSchema: forkSchema,
    call: async (args) => {
      const run = session.app.get(await runOf(session, args));
      const options = await allowFork(run, forkOptions(args), async (action) =>
        assertAllowed(allowed, action),
      );
      return plain(await forkRun(session.app, run.id, options));
    },
  }),
  wake: (session) => ({
    name: "wake_run",
    description: "Ends the sleeps of a run now.",
    inputSchema: schemaOf({ run: runSchema }, "run"),
    call: async (args) => plain({ woken: await wakeRun(session.app, await runOf(session, args)) }),
  }),
  cancel: (session) => ({
    name: "cancel_run",
    description:
      "Ends a run and its children, and waits for its clean-up if the code is here. Otherwise a worker cleans up. The journal stays.",
    inputSchema: schemaOf({ run: runSchema, reason: { type: "string" } }, "run"),
    call: async (args) => {
      const reason = text(args, "reason");
      const { status, cancelling } = await cancelRun(session.app, await runOf(session, args), { reason });
      return plain({ status, ...(cancelling === true ? { cleanUp: "a worker cleans up" } : {}) });
    },
  }),
};

/** Tools that only record: a worker goes on. */
const recording: Record<"retry" | "pause" | "unpause" | "send", Make> = {
  retry: (session) => ({
    name: "retry_run",
    description:
      "Continues a failed run in place: its failed steps begin anew, the others keep what they recorded. A worker drives it.",
    inputSchema: schemaOf({ run: runSchema }, "run"),
    call: async (args) => {
      const { status } = await session.app.get(await runOf(session, args)).retry({ drive: false });
      return plain({ status });
    },
  }),
  pause: (session) => ({
    name: "pause_run",
    description: "Stops a run until it is unpaused. Answers and messages are still recorded.",
    inputSchema: schemaOf({ run: runSchema, reason: { type: "string" } }, "run"),
    call: async (args) => {
      const reason = text(args, "reason");
      const { status } = await session.app.get(await runOf(session, args)).pause({ reason });
      return plain({ status });
    },
  }),
  unpause: (session) => ({
    name: "unpause_run",
    description: "Lets a paused run continue. A worker drives it.",
    inputSchema: schemaOf({ run: runSchema }, "run"),
    call: async (args) => {
      const { status } = await session.app.get(await runOf(session, args)).unpause({ drive: false });
      return plain({ status });
    },
  }),
  send: (session) => ({
    name: "send_message",
    description: "Sends a message to a topic that a run receives. With an id, sending it twice counts once.",
    inputSchema: schemaOf(
      {
        run: runSchema,
        topic: { type: "string" },
        payload: { description: "The message" },
        id: { type: "string" },
      },
      "run",
      "topic",
      "payload",
    ),
    call: async (args) => {
      const runId = await runOf(session, args);
      return plain(
        await session.app.send(runId, text(args, "topic") ?? "", args["payload"], { id: text(args, "id") }),
      );
    },
  }),
};

/** An edit that answers a wait is an answer, and one that stands for a message is a message. */
function assertAllowed(allowed: ReadonlySet<Allowable>, { type, runId, waits, topic }: Action): void {
  const needed = type === "send" ? "send" : "resume";
  if (type === "fork" || allowed.has(needed)) return;
  const what = topic === undefined ? `the wait ${waits?.join(", ")}` : `a message of topic ${topic}`;
  throw new CliError(
    `The edit answers ${what} of run ${runId}, which this server does not allow. Edit a step, or start durable mcp with --allow ${needed},fork.`,
    { code: "forbidden" },
  );
}

async function answer(session: Session, args: Args): Promise<Plain> {
  const { app } = session;
  const runId = await runOf(session, args);
  const { view, outcome } = await lookAt(app, runId, { now: 0 });
  const open: readonly SuspendPoint[] = outcome !== null && "waiting" in outcome ? outcome.waiting : [];
  const fits = args["key"] === undefined ? open : open.filter((point) => point.key === args["key"]);
  const [point] = fits;
  if (point === undefined || fits.length > 1) {
    const keys = open.map(({ key }) => key).join(", ") || "none";
    throw new CliError(`Run ${runId} is ${view.status}. Its open waits: ${keys}. Name one with key.`, {
      code: "not-waiting",
    });
  }
  const drives = app.workflows.includes(view.workflow);
  const result = await app.resume(point.token, args["value"], { drive: drives });
  return plain({
    status: result.status,
    issues: result.issues,
    run: drives ? result.outcome?.status : "a worker continues it",
  });
}
