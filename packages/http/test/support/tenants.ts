/**
 * Two tenants and one handler, with a policy by the prefix of run ids. One tenant attacks with random sequences of
 * requests. Used with a small count by a test, and with more by `npm run soak:attack`.
 *
 * M1. No response to the attacker contains data, tokens or ids of the other tenant's runs.
 * M2. The journals and heads of the other tenant's runs do not change.
 * M3. No suspend point is answered, of either tenant, by a client that may not answer.
 * M4. No run takes an id of the other tenant, or is a fork or a child of one of its runs.
 * M5. Afterwards the other tenant starts a run under its next id, and answers its own waits, as if alone.
 */

import { type App, createApp, durable, MemoryStorage, type RunHead, type Storage } from "@durable/core";
import { type Action, type Authorize, createHandler, type Handler } from "@durable/http";
import { seeded } from "@durable/testing";
import { labSecret, stopped } from "./lab.ts";
import { hostileRequest, type Known } from "./tenant-requests.ts";

const canary = "canary of the other tenant";

/** By id prefix: each tenant reaches its own runs. Only an approver sees tokens and answers. */
export const policy: Authorize = (request, { type, runId, forkId }) => {
  const tenant = request.headers.get("x-tenant") ?? "nobody";
  const isOwn = (id: string | undefined): boolean => id?.startsWith(`${tenant}-`) === true;
  switch (type) {
    case "describe":
      return true;
    case "tokens":
    case "resume":
      return false;
    case "fork":
      return isOwn(runId) && isOwn(forkId);
    default:
      return isOwn(runId);
  }
};

export interface Attacked {
  readonly sequences: number;
  readonly requests: number;
  /** How many requests were answered with which status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** What the attacker reached; there must be nothing. */
  readonly problems: readonly string[];
}

/** Runs random sequences, each against a new app, and stops at the first that reaches something. */
export async function attackTenant(options: {
  readonly sequences: number;
  readonly seed: number;
  readonly authorize?: Authorize;
  /** How many sequences run at the same time; 16 by default. */
  readonly atOnce?: number;
  readonly progress?: (sequences: number) => void;
}): Promise<Attacked> {
  const statuses: Record<string, number> = {};
  const problems: string[] = [];
  let [begun, sequences, requests] = [0, 0, 0];
  const attack = async (): Promise<void> => {
    while (begun < options.sequences && problems.length === 0) {
      const seed = options.seed + begun++;
      const scene = await Scene.open(options.authorize ?? policy);
      for (const status of await scene.attack(seed)) {
        statuses[status] = (statuses[status] ?? 0) + 1;
        requests += 1;
      }
      problems.push(...(await scene.problems()).map((problem) => `seed ${seed}: ${problem}`));
      sequences += 1;
      options.progress?.(sequences);
    }
  };
  // Most of a sequence is waiting for runs to stop.
  await Promise.all(Array.from({ length: options.atOnce ?? 16 }, attack));
  return { sequences, requests, statuses, problems };
}

class Scene {
  readonly #storage: Storage = new MemoryStorage();
  readonly #acts: string[] = [];
  readonly #app: App;
  readonly #handler: Handler;
  readonly #problems: string[] = [];
  #known: Known = { own: [], foreign: [], tokens: [], composed: [] };
  #secrets: readonly string[] = [];
  #token = "";
  #before = "";

  static async open(authorize: Authorize): Promise<Scene> {
    const scene = new Scene(authorize);
    await scene.#prepare();
    return scene;
  }

  private constructor(authorize: Authorize) {
    const review = durable("review", async (ctx, input: unknown) => {
      const verdict = await ctx.suspend<{ approved: boolean }>("approve", { note: input });
      return ctx.step("act", () => {
        this.#acts.push(ctx.runId);
        return { verdict, input };
      });
    });
    const talk = durable("talk", async (ctx, input: unknown) => {
      await ctx.stream("words", () => [input, "and", input]);
      return ctx.step("draft", () => input);
    });
    const family = durable("family", (ctx, input: unknown) => ctx.child(review, input));
    const echo = durable("echo", (ctx, input: unknown) => ctx.step("say", () => input));
    const reply = durable("reply", (ctx) => ctx.suspend("reply"));
    const workflows = [review, talk, family, echo, reply];
    this.#app = createApp({ storage: this.#storage, secret: labSecret, workflows });
    this.#handler = createHandler(this.#app, {
      authorize,
      keepAlive: 5,
      onError: (error) => this.#problems.push(`an error of the server: ${String(error)}`),
    });
  }

  async #prepare(): Promise<void> {
    for (const [tenant, input] of [
      ["a", "data of the attacker"],
      ["b", canary],
    ] as const) {
      for (const workflow of ["review", "talk", "family"]) {
        await this.#app.start(workflow, input, { id: `${tenant}-${workflow}` });
        await stopped(this.#app, `${tenant}-${workflow}`);
      }
    }
    await this.#app.start("reply", undefined, { id: "a-reply" });
    await stopped(this.#app, "a-reply");
    const theirs = [...(await this.#tokens("b-review")), ...(await this.#tokens("b-family"))];
    const own = [...(await this.#tokens("a-reply"))];
    const children = (await this.#app.list({ parent: "b-family" })).runs.map(({ runId }) => runId);
    const ids = ["b-review", "b-talk", "b-family"];
    this.#token = theirs[0] ?? "";
    this.#secrets = [canary, ...theirs];
    this.#known = {
      own: ["a-review", "a-talk", "a-family", "a-reply", "a-new", "a-next", "a-"],
      foreign: [...ids, ...children, "b-next", "b-new", "b-"],
      tokens: own,
      composed: theirs.map((token) => token.slice(0, 29) + (own[0] ?? "").slice(29)),
    };
    this.#before = await this.#state();
  }

  async #tokens(runId: string): Promise<string[]> {
    const outcome = await this.#app.get(runId).outcome();
    return outcome.status === "suspended" ? outcome.waiting.map(({ token }) => token) : [];
  }

  /** Sends a sequence of requests, some of them at the same time; returns the statuses. */
  async attack(seed: number): Promise<number[]> {
    const random = seeded(seed);
    const statuses: number[] = [];
    for (let rounds = random.between(2, 6); rounds > 0; rounds--) {
      const requests = Array.from({ length: random.between(1, 4) }, () =>
        hostileRequest(random, this.#known),
      );
      statuses.push(...(await Promise.all(requests.map((request) => this.#ask(request)))));
    }
    return statuses;
  }

  async #ask(request: Request): Promise<number> {
    request.headers.set("x-tenant", "a");
    const response = await this.#handler(request);
    const text = await firstOf(response);
    const what = `${request.method} ${request.url}`;
    if (this.#secrets.some((secret) => text.includes(secret)))
      this.#problems.push(`${what} shows data of the other tenant: ${text.slice(0, 200)}`);
    for (const [, token = ""] of text.matchAll(/"token":"([a-z2-7]{55})"/g)) this.#known.tokens.push(token);
    if (/"(?:runId|parent)":"b-/.test(text))
      this.#problems.push(`${what} shows its runs: ${text.slice(0, 200)}`);
    return response.status;
  }

  async problems(): Promise<readonly string[]> {
    for (const { runId, status } of await this.#runs())
      if (status === "running") await stopped(this.#app, runId);
    if (this.#acts.length > 0) this.#problems.push(`approved without permission: ${this.#acts.join(", ")}`);
    if ((await this.#state()) !== this.#before) this.#problems.push("runs of the other tenant changed");
    await this.#goOn();
    return this.#problems;
  }

  /** The other tenant works on. */
  async #goOn(): Promise<void> {
    const next = await this.#app.start("review", canary, { id: "b-next" }).catch((error: unknown) => error);
    if (!(next instanceof Object && "repeated" in next && next.repeated === false))
      return void this.#problems.push(`the next id is taken: ${String(next)}`);
    await stopped(this.#app, "b-next");
    for (const [runId, token] of [
      ["b-review", this.#token],
      ["b-next", (await this.#tokens("b-next"))[0] ?? ""],
    ] as const) {
      const { status } = await this.#app.resume(token, { approved: false });
      const output = JSON.stringify(await this.#app.get(runId).result().catch(String));
      const expected = JSON.stringify({ verdict: { approved: false }, input: canary });
      if (status !== "accepted" || output !== expected)
        this.#problems.push(`the answer to ${runId} was ${status}, and its output ${output}`);
    }
  }

  async #runs(): Promise<readonly RunHead[]> {
    return (await this.#app.list({ limit: 1_000 })).runs;
  }

  /** Heads and journals of all runs of the other tenant, and of runs below them. */
  async #state(): Promise<string> {
    const runs = await this.#runs();
    const theirs = runs.filter(
      ({ runId, parent }) => runId.startsWith("b-") || parent?.startsWith("b-") === true,
    );
    const stored = theirs.map(async (head) => [head, (await this.#storage.read(head.locator, 0)).batches]);
    return JSON.stringify(await Promise.all(stored));
  }
}

/** The text of a response; of a stream that stays open, its first events. */
async function firstOf(response: Response): Promise<string> {
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response.text();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let events = 0; events < 6; events++) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
    if (done || value.startsWith(":")) break;
    text += value;
  }
  await reader?.cancel();
  return text;
}

/** Policies with one rule broken. The model must notice each. */
export const broken: Readonly<Record<string, (action: Action) => boolean>> = {
  "a fork may take any id": ({ type, runId }) => type === "fork" && runId?.startsWith("a-") === true,
  "a fork may read any run": ({ type, forkId }) => type === "fork" && forkId?.startsWith("a-") === true,
  "an edit may answer": ({ type }) => type === "resume",
  "every run may be read": ({ type }) => type === "read",
  "every stream may be read": ({ type }) => type === "stream",
  "every run may be cancelled": ({ type }) => type === "cancel",
  "every run may be started": ({ type }) => type === "start",
  "tokens are shown": ({ type }) => type === "tokens",
};
