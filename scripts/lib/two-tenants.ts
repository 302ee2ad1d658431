/**
 * Two tenants over every route of the handler, the dashboard and a chat, under the policy by id prefix, and an agent of the
 * hostile one with tools of MCP: all of them, or some. The hostile tenant sends random sequences of requests that are made from the tables of routes. Used with a
 * small count by a test, and with more by `npm run soak:attack`.
 *
 * M1. No response to the attacker contains data or ids of the other tenant, except ids that it sent itself.
 * M2. Runs, schedules and keys of the other tenant stay as they were.
 * M3. No wait is answered and no message arrives: nobody here has the right to, but the agent in some sequences. It answers
 *     runs of its tenant.
 * M4. A chat pays what its own tenant has approved, once for each question.
 */
import { createApp, durable, MemoryStorage, type Action, type App, type Verdict } from "@durable/core";
import { createHandler, type Handler } from "@durable/http";
import { routes as httpRoutes } from "@durable/http/kit";
import { seeded, type Random } from "@durable/testing";
import { createChatHandler } from "../../packages/ai-sdk/src/chat/index.ts";
import type { Tool } from "../../packages/cli/src/mcp/protocol.ts";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import { actions, type Allowable } from "../../packages/cli/src/mcp/writers.ts";
import { createDashboard } from "../../packages/dashboard/src/index.ts";
import { routes as dashboardRoutes } from "../../packages/dashboard/src/dashboard.ts";
import { byPrefix } from "../../packages/http/test/support/policies.ts";
import { chatRequest, chatWorkflow, runsOf, user, wrongPayments, type Paid } from "./chat-tenants.ts";

const canary = "data of the victim";
const origin = "http://localhost:4777";
const workflows = ["ask", "family", "letter", "work"];
const keys = ["approve", "kid", "mail", "draft", "nothing"];

/** What makes a run go on with something that it waits for. */
const answering: ReadonlySet<Allowable> = new Set(["resume", "send"]);

export interface TwoTenants {
  readonly tried: number;
  readonly ends: Record<string, number>;
  readonly problems: string[];
}

/** The policy of the guide, in which nobody may answer. */
function policy(request: Request, action: Action): Verdict {
  return action.type === "resume" || action.type === "tokens" || action.type === "send"
    ? false
    : byPrefix(request, action);
}

export async function attackTwoTenants({
  count,
  seed,
  authorize = policy,
}: {
  readonly count: number;
  readonly seed: number;
  readonly authorize?: (request: Request, action: Action) => Verdict;
}): Promise<TwoTenants> {
  const ends: Record<string, number> = {};
  const problems: string[] = [];
  let [begun, tried] = [0, 0];
  const attack = async (): Promise<void> => {
    while (begun < count && problems.length === 0) {
      const own = seed + begun++;
      const scene = new Scene(authorize);
      await scene.prepare();
      for (const end of await scene.attack(seeded(own))) ends[end] = (ends[end] ?? 0) + 1;
      problems.push(...(await scene.problems()).map((problem) => `seed ${own}: ${problem}`));
      tried += 1;
    }
  };
  // Most of a sequence is waiting.
  await Promise.all(Array.from({ length: 8 }, attack));
  return { tried, ends, problems };
}

class Scene {
  readonly #app: App;
  readonly #handlers: Readonly<Record<"http" | "dashboard" | "chat", Handler>>;
  readonly #problems: string[] = [];
  readonly #answered: string[] = [];
  readonly #paid: Paid[] = [];
  /** What the agent may do; whether it may answer differs from sequence to sequence. */
  #allowed: ReadonlySet<Allowable> = new Set();
  /** Runs of chats, which the attacker can name. */
  readonly #chatRuns: string[] = [];
  #before = "";

  constructor(authorize: (request: Request, action: Action) => Verdict) {
    const ask = durable("ask", async (ctx, input: unknown) => {
      const answer = await ctx.suspend("approve", { note: input });
      return ctx.step("act", () => (this.#answered.push(ctx.runId), answer));
    });
    const family = durable("family", async (ctx, input: unknown) => {
      const draft = await ctx.step("draft", () => input);
      const answer = await ctx.child(ask, input, { name: "kid" });
      return ctx.step("act", () => (this.#answered.push(ctx.runId), [draft, answer]));
    });
    const letter = durable("letter", async (ctx, input: unknown) => {
      ctx.report(input);
      const mail = await ctx.receive("mail");
      return ctx.step("act", () => (this.#answered.push(ctx.runId), mail));
    });
    const work = durable("work", (ctx, input: unknown) => ctx.step("draft", () => input));
    this.#app = createApp({
      storage: new MemoryStorage(),
      secret: "only for this test, 32 characters",
      workflows: [ask, family, letter, work, chatWorkflow(this.#paid)],
      bind: false,
    });
    const onError = (error: unknown): void => void this.#problems.push(`the server failed: ${String(error)}`);
    this.#handlers = {
      http: createHandler(this.#app, { authorize, onError, keepAlive: 5 }),
      dashboard: createDashboard({ app: this.#app, authorize, onError }),
      chat: createChatHandler(this.#app, { workflow: "chat", authorize, onError, keepAlive: 5 }),
    };
  }

  async prepare(): Promise<void> {
    for (const [tenant, input] of [
      ["m", "mine"],
      ["v", canary],
    ] as const) {
      for (const workflow of workflows) {
        const run = await this.#app.start(workflow, input, { id: `${tenant}-${workflow}`, scope: tenant });
        await run.result().catch(() => {});
      }
      const later = { debounce: { key: "key", wait: "1h" }, scope: tenant } as const;
      await this.#app.start("work", input, { id: `${tenant}-later`, ...later });
      const one = { id: `${tenant}-one`, singleton: "key", scope: tenant };
      await (await this.#app.start("ask", input, one)).result().catch(() => {});
      await this.#chat(tenant, input);
    }
    const work = durable("work", (_, input: unknown) => input);
    await this.#app.schedule("v-daily", work, { cron: "0 0 1 1 *", input: canary });
    await this.#app.schedule("m-daily", work, { cron: "0 0 1 1 *", input: "mine" });
    this.#before = await this.#state();
  }

  async #chat(tenant: string, input: string): Promise<void> {
    const body = JSON.stringify({ id: `${tenant}-chat`, messages: [user(input)] });
    const headers = { "content-type": "application/json", "x-tenant": tenant };
    const request = new Request(`${origin}/api/chat`, { method: "POST", headers, body });
    const response = await this.#handlers.chat(request);
    await response.text();
    const run = response.headers.get("x-durable-run-id") ?? "";
    await this.#app.get(run).result();
    this.#chatRuns.push(run);
  }

  /** Heads, journals and schedules of the victim. */
  async #state(): Promise<string> {
    const { runs } = await this.#app.list({ limit: 1_000 });
    const theirs = runs.filter(
      ({ runId, parent }) => isTheirs(runId) || (parent !== null && isTheirs(parent)),
    );
    const journals = theirs.map(async ({ runId }) => [runId, await this.#app.get(runId).entries()]);
    const paused = await this.#app.paused();
    const schedule = await this.#app.schedules.get("v-daily").catch(() => null);
    return JSON.stringify([await Promise.all(journals), paused, schedule]);
  }

  async attack(random: Random): Promise<string[]> {
    const ends: string[] = [];
    const mayAnswer = random.chance(0.4);
    this.#allowed = new Set(mayAnswer ? actions : actions.filter((one) => !answering.has(one)));
    for (let left = random.between(4, 12); left > 0; left--) {
      const [tool, chat] = [random.chance(0.15), random.chance(0.25)];
      ends.push(await (tool ? this.#useTool(random) : chat ? this.#write(random) : this.#ask(random)));
    }
    return ends;
  }

  /** What a client of a chat does, sometimes twice at once. */
  async #write(random: Random): Promise<string> {
    const headers = { "content-type": "application/json", "x-tenant": "m" };
    const asked = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () =>
      chatRequest(random, origin, this.#chatRuns),
    );
    const statuses = await Promise.all(
      asked.map(async ({ url, ...init }) => {
        const response = await this.#handlers.chat(new Request(url, { headers, ...init }));
        const run = response.headers.get("x-durable-run-id");
        if (run !== null && !this.#chatRuns.includes(run)) this.#chatRuns.push(run);
        this.#judge(await response.text(), `chat ${init.method} ${url} ${init.body ?? ""}`);
        return response.status;
      }),
    );
    return `chat ${statuses[0]}`;
  }

  async #ask(random: Random): Promise<string> {
    const [surface, at, table] = random.pick([
      ["http", "/", httpRoutes],
      ["dashboard", "/api/", dashboardRoutes],
    ] as const);
    const begins = surface === "http" && random.chance(0.5);
    const [path, methods] = begins
      ? random.pick(httpRoutes.filter(([name]) => name === "runs" || name.endsWith("fork")))
      : random.pick<readonly [string, object]>(table);
    const method = begins ? "POST" : random.pick(Object.keys(methods));
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(valueOf(random, name)),
    );
    const query = new URLSearchParams();
    for (const name of [
      "run",
      "runs",
      "before",
      "after",
      "parent",
      "workflow",
      "text",
      "key",
      "cursor",
      "q",
      "redact",
    ])
      if (method === "GET" && random.chance(wanted(path, name) ? 0.9 : 0.03))
        query.set(name, valueOf(random, name));
    const url = `${origin}${at}${filled}${query.size > 0 ? `?${query}` : ""}`;
    const headers = { host: "localhost:4777", "content-type": "application/json", "x-tenant": "m" };
    const body = method === "POST" ? { body: JSON.stringify(bodyOf(random, path)) } : {};
    const response = await this.#handlers[surface](new Request(url, { method, headers, ...body }));
    this.#judge(await firstOf(response), `${surface} ${method} ${url} ${body.body ?? ""}`);
    return String(response.status);
  }

  /** An agent reads all runs, so only what it changes is judged. */
  async #useTool(random: Random): Promise<string> {
    const session = { app: this.#app, prices: undefined } as unknown as Parameters<typeof toolsOf>[0];
    const allowed = new Set([...this.#allowed].filter(() => random.chance(0.8)));
    const [readers, writers] = [0, 1].map((kind) =>
      toolsOf(session, allowed, () => this.#app.world.now()).filter((one) => one.readOnly === (kind === 0)),
    ) as [Tool[], Tool[]];
    const tool = random.pick(writers.length > 0 && random.chance(0.8) ? writers : readers);
    const run = `m-${random.pick([...workflows, "later", "one"])}`;
    // A fork with an id would be another attack: an agent may choose any.
    const { id: _, ...body } = bodyOf(random, "runs/{runId}/fork") as Record<string, unknown>;
    const answer = { value: "yes", topic: "mail", payload: "yes", reason: "x", code: "limit" };
    const two = tool.name === "diff_runs" ? { before: run, after: run } : {};
    const key = random.chance(0.7) ? { key: random.pick(keys) } : {};
    return tool.call({ ...answer, ...body, run, ...key, ...two }).then(
      () => `${tool.name} done`,
      () => "tool refused",
    );
  }

  #judge(text: string, what: string): void {
    if (text.includes(canary)) this.#problems.push(`${what} shows data: ${text.slice(0, 200)}`);
    // Their ids have words: the program in an exported page may say `v-p`, a subtraction.
    for (const [id] of text.matchAll(/\bv-\w{3,}/g))
      if (!what.includes(id)) this.#problems.push(`${what} shows ${id}: ${text.slice(0, 200)}`);
  }

  async problems(): Promise<readonly string[]> {
    for (const { runId, status, state } of (await this.#app.list({ limit: 1_000 })).runs)
      // The list of a chat is a journal that stays open.
      if (status === "running" && state !== "open") await this.#app.advance(runId).catch(() => {});
    const mayAnswer = [...answering].some((action) => this.#allowed.has(action));
    const wrong = this.#answered.filter((runId) => !mayAnswer || isTheirs(runId));
    if (wrong.length > 0) this.#problems.push(`answered: ${wrong.join(", ")}`);
    this.#problems.push(...wrongPayments(this.#paid));
    if ((await this.#state()) !== this.#before) this.#problems.push("something of the victim changed");
    const next = await this.#app.start("work", canary, { id: "v-next", singleton: "next", scope: "v" });
    if (next.repeated) this.#problems.push("the next id of the victim is taken");
    await next.result().catch(() => {});
    await this.#app.close();
    return this.#problems;
  }
}

/** A run of the victim, or of its chat. */
const isTheirs = (id: string): boolean => id.startsWith("v-") || id.startsWith(runsOf("v-chat"));

/** Queries without which a route does nothing. */
function wanted(path: string, name: string): boolean {
  return (
    (path === "diff" && (name === "before" || name === "after")) ||
    (path === "summaries" && name === "runs") ||
    (path === "events" && name === "run") ||
    (path.endsWith("step") && name === "key")
  );
}

function idOf(random: Random): string {
  const tenant = random.chance(0.5) ? "m" : "v";
  return `${tenant}-${random.pick([...workflows, "later", "one", "next", "new"])}`;
}

function valueOf(random: Random, name: string): string {
  switch (name) {
    case "runId":
    case "run":
    case "before":
    case "after":
    case "parent":
      return idOf(random);
    case "runs":
      return `${idOf(random)}:0,${idOf(random)}:1`;
    case "schedule":
      return random.pick(["m-daily", "v-daily"]);
    case "workflow":
      return random.pick(workflows);
    case "topic":
      return "mail";
    case "text":
    case "q":
      return random.pick(["v", "v-", "m-", "data"]);
    case "redact":
      return "0";
    case "name":
    case "key":
      return random.pick(keys);
    default:
      return random.pick(["0", "1", "x", "v-ask"]);
  }
}

function bodyOf(random: Random, path: string): object {
  const some = (members: Readonly<Record<string, () => unknown>>, chance = 0.5): object =>
    Object.fromEntries(
      Object.entries(members)
        .filter(() => random.chance(chance))
        .map(([name, make]) => [name, make()]),
    );
  const key = (): string => random.pick(["key", "next", "other"]);
  if (path === "runs")
    return {
      workflow: random.pick(workflows),
      ...some({ id: () => idOf(random) }, 0.9),
      ...some({ input: () => "mine", tags: () => ({ a: "b" }) }),
      ...(random.chance(0.3) ? { singleton: key() } : {}),
      ...(random.chance(0.3) ? { debounce: { key: key(), wait: "3650 days" } } : {}),
      ...(random.chance(0.1) ? { priority: 1_000 } : {}),
    };
  if (path.endsWith("fork") || path.endsWith("plan"))
    return {
      ...some(
        { edit: () => ({ [random.pick(keys)]: random.pick([true, { approved: true }, "mine"]) }) },
        0.7,
      ),
      ...some({ from: () => random.pick(keys), input: () => "mine" }, 0.3),
      ...some({ id: () => idOf(random) }, 0.8),
    };
  if (path.endsWith("answer")) return { key: random.pick(keys), value: true };
  if (path.includes("messages")) return { payload: "mine" };
  if (path === "purge")
    return random.chance(0.5)
      ? { keep: 0, ...some({ workflow: () => [random.pick(workflows)] }) }
      : { olderThan: "0s", status: ["completed", "failed"], dryRun: false };
  return {};
}

/** The text of a response; of a stream, its first events. */
async function firstOf(response: Response): Promise<string> {
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response.text();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return value;
}
