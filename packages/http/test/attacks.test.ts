/** Attacks on permissions and limits, each named after what the attacker does. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { type Action, createHandler, github, standardWebhooks, toJson, webhook } from "@durable/http";
import { serve } from "@durable/http/node";
import { describe, expect, test } from "vitest";
import { lab, labSecret, origin, stopped, workflows } from "./support/lab.ts";
import { requestOf, signGithub, signStandard } from "./support/signed.ts";

const codeOf = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { error?: { code?: unknown } }).error?.code;

describe("forks", () => {
  test("a fork takes the id of another tenant's next run: authorize sees that id", async () => {
    const seen: Action[] = [];
    const { app, post } = lab({
      authorize: (_request, action) => {
        seen.push(action);
        return action.type !== "fork" || action.forkId?.startsWith("a-") === true;
      },
    });
    await app.start("echo", 1, { id: "a-one" });
    await stopped(app, "a-one");
    for (const route of ["fork", "plan"]) {
      const refused = await post(`/runs/a-one/${route}`, { from: "say", id: "b-next" });
      expect([refused.status, await codeOf(refused)]).toEqual([403, "forbidden"]);
      expect(seen.at(-1)).toEqual({ type: "fork", runId: "a-one", forkId: "b-next" });
    }
    expect((await app.list()).runs.map(({ runId }) => runId)).toEqual(["a-one"]);
    expect((await post("/runs/a-one/fork", { from: "say", id: "a-two" })).status).toBe(202);
  });

  test("an approval is forged by an edit: it needs `resume` as well as `fork`", async () => {
    const seen: Action[] = [];
    const { app, post, waiting } = lab({
      authorize: (_request, action) => (seen.push(action), action.type !== "resume"),
    });
    await waiting("review", "one");
    for (const route of ["fork", "plan"]) {
      seen.length = 0;
      const forged = { edit: { verdict: { approved: true } }, id: "two" };
      const refused = await post(`/runs/one/${route}`, forged);
      expect([refused.status, await codeOf(refused)]).toEqual([403, "forbidden"]);
      expect(seen).toEqual([
        { type: "fork", runId: "one", forkId: "two", edits: ["verdict"] },
        { type: "resume", runId: "one", forkId: "two", edits: ["verdict"], waits: ["verdict"] },
      ]);
    }
    expect((await app.list()).runs.length).toBe(1);
  });

  test("an edit of a step needs no `resume`, and names are passed as keys", async () => {
    const seen: Action[] = [];
    const nested = durable("nested", async (ctx) => {
      const got = await ctx.parallel({ a: (c) => c.step("work", () => 1), b: (c) => c.suspend("ask") });
      return got;
    });
    const { app, post, waiting } = lab({
      workflows: [nested],
      authorize: (_request, action) => (seen.push(action), action.type !== "resume"),
    });
    await waiting("nested", "one");
    expect((await post("/runs/one/fork", { edit: { work: 2 }, id: "two" })).status).toBe(202);
    expect(seen).toEqual([
      { type: "fork", runId: "one", forkId: "two", edits: ["work"] },
      { type: "fork", runId: "one", forkId: "two", edits: ["parallel[a]/work"] },
    ]);
    expect((await post("/runs/one/fork", { edit: { work: 2, ask: 3 } })).status).toBe(403);
    expect(seen.slice(2)).toEqual([
      { type: "fork", runId: "one", edits: ["work", "ask"] },
      { type: "fork", runId: "one", edits: ["parallel[a]/work", "parallel[b]/ask"] },
      {
        type: "resume",
        runId: "one",
        edits: ["parallel[a]/work", "parallel[b]/ask"],
        waits: ["parallel[b]/ask"],
      },
    ]);
    await stopped(app, "two");
  });

  test("a client without permission learns nothing from a fork with edits", async () => {
    const { post, waiting, errors } = lab({ authorize: () => false });
    await waiting("review", "one");
    const texts = new Set<string>();
    for (const [run, key] of [
      ["one", "verdict"],
      ["one", "nothing"],
      ["none", "verdict"],
    ] as const)
      for (const route of ["fork", "plan"]) {
        const response = await post(`/runs/${run}/${route}`, { edit: { [key]: 1 } });
        texts.add(`${response.status} ${await response.text()}`);
      }
    expect(texts.size).toBe(1);
    expect([...texts][0]).toContain("403");
    expect(errors).toEqual([]);
  });

  test("a suspend point that opens after the check is not answered by that edit", async () => {
    const pass: { ready?: () => void } = {};
    const slow = durable("slow", async (ctx) => {
      await ctx.step("first", () => 1);
      await ctx.step("gate", () => new Promise<void>((go) => (pass.ready = go)));
      return ctx.suspend("approve");
    });
    const { app, post } = lab({
      workflows: [slow],
      // While the request is checked, the run reaches the point that it wants to answer.
      authorize: async (_request, { type }) => {
        pass.ready?.();
        await stopped(app, "one");
        return type !== "resume";
      },
    });
    await app.start("slow", undefined, { id: "one" });
    while (pass.ready === undefined) await new Promise((go) => setTimeout(go, 1));
    const response = await post("/runs/one/fork", { edit: { approve: true }, id: "two" });
    expect([response.status, await codeOf(response)]).toEqual([403, "forbidden"]);
    expect((await app.list()).runs.length).toBe(1);
  });

  test("a list of the forks and children of a run is an action on that run", async () => {
    const seen: Action[] = [];
    const { get } = lab({ authorize: (_request, action) => (seen.push(action), true) });
    await get("/runs?parent=one");
    expect((await get("/runs?parent=..%2Fone")).status).toBe(400);
    expect(seen).toEqual([{ type: "list", runId: "one" }]);
  });
});

describe("starts", () => {
  test("a start adopts a fork, or another workflow's run, that waits under its id: 409 run-exists", async () => {
    const { app, post, waiting } = lab();
    await waiting("review", "one", 1);
    await (await app.get("one").fork({ edit: { verdict: { approved: true } }, id: "next" })).result();
    const adopted = await post("/runs", { workflow: "review", input: 1, id: "next" });
    expect([adopted.status, await codeOf(adopted)]).toEqual([409, "run-exists"]);
    const other = await post("/runs", { workflow: "echo", input: 1, id: "one" });
    expect([other.status, await codeOf(other)]).toEqual([409, "run-exists"]);
  });
});

describe("cross-site requests", () => {
  const changes: readonly (readonly [path: string, body: unknown])[] = [
    ["/runs", { workflow: "echo", id: "new" }],
    ["/runs/one/fork", { from: "anything" }],
    ["/runs/one/plan", { from: "anything" }],
    ["/runs/one/cancel", {}],
  ];
  const host = new URL(origin).host;
  const foreign: Record<string, Record<string, string>> = {
    "a page of a sister domain": { "sec-fetch-site": "same-site" },
    "a page of another site": { "sec-fetch-site": "cross-site" },
    "a value that does not exist": { "sec-fetch-site": "same-orig" },
    "an old browser": { origin: "https://evil.example", host },
    "an old browser, on another port": { origin: `http://${host}:8080`, host },
    "an old browser, on a subdomain": { origin: `http://x.${host}`, host },
    "a sandboxed frame in an old browser": { origin: "null", host },
    "an origin that is not one": { origin: host, host },
    "an old browser and no Host": { origin: "https://evil.example" },
  };
  test.each(Object.entries(foreign))("%s changes nothing", async (_what, headers) => {
    const { app, post, get, waiting } = lab();
    await waiting("open", "one");
    for (const [path, body] of changes) {
      const response = await post(path, body, headers);
      expect([path, response.status, await codeOf(response)]).toEqual([path, 403, "cross-site"]);
    }
    expect((await app.list()).runs.map(({ status }) => status)).toEqual(["suspended"]);
    expect((await get("/runs/one", headers)).status).toBe(200);
  });

  const own: Record<string, Record<string, string>> = {
    "a page of the same origin": { "sec-fetch-site": "same-origin", origin },
    "a program": {},
    "a program that sets Host": { host: "proxied.example" },
    "an old browser": { origin: "https://app.example", host: "app.example" },
    "an old browser, with the usual port": { origin: "https://app.example", host: "APP.example:443" },
    "an old browser, without a Host": { origin },
    "an address that a person typed": { "sec-fetch-site": "none" },
  };
  test.each(Object.entries(own))("%s may change something", async (_what, headers) => {
    const { app, post } = lab();
    expect((await post("/runs", { workflow: "echo", id: "new" }, headers)).status).toBe(202);
    await stopped(app, "new");
  });

  test("over a socket the Host of the client counts, not the address of the server", async () => {
    const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows });
    const server = await serve(createHandler(app, { authorize: () => true }));
    try {
      const start = (from: string, id: string): Promise<Response> =>
        fetch(`${server.url}/runs`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: from, "sec-fetch-site": "" },
          body: JSON.stringify({ workflow: "echo", id }),
        });
      expect((await start("https://evil.example", "no")).status).toBe(403);
      expect((await start(server.url, "yes")).status).toBe(202);
      await stopped(app, "yes");
    } finally {
      await server.close();
    }
  });
});

describe("bodies", () => {
  const megabyte = (piece: string): string => `[${piece.repeat(Math.floor(1_048_000 / piece.length))}1]`;

  test.each(["[],", "{},", "1,", '"",', "[[]],", "null , "])(
    "a megabyte of %s is refused before it becomes a value",
    async (piece) => {
      const { app, post } = lab();
      const began = process.threadCpuUsage();
      const response = await post(
        "/runs",
        `{"workflow":"echo","input":${megabyte(piece)}}`.slice(0, 1_048_576),
      );
      expect([response.status, await codeOf(response)]).toEqual([413, "too-many-nodes"]);
      expect(process.threadCpuUsage(began).user).toBeLessThan(1_000_000);
      expect((await app.list()).runs).toEqual([]);
    },
  );

  test("the number of values is counted exactly, whatever surrounds them", async () => {
    const { app, post } = lab({ limits: { nodes: 7 } });
    // The body is an object with two members: names and values count.
    const take = async (input: string): Promise<number> =>
      (await post("/runs", `{"workflow":"echo","input":${input}}`)).status;
    expect(await take("[1,2,3]")).toBe(413);
    expect(await take("[1,2]")).toBe(202);
    expect(await take(' [ "," , "[[[[" ] ')).toBe(202);
    expect(await take("[[],[]]")).toBe(202);
    expect(await take("[[],[],[]]")).toBe(413);
    expect(await take('{"a":1}')).toBe(202);
    expect(await take('{"a":1,"b":2}')).toBe(413);
    for (const { runId } of (await app.list()).runs) await stopped(app, runId);
  });

  const deep = "[".repeat(300) + "]".repeat(300);
  test("deep nesting is 400 on every route, in a form, and where the limit of the handler is higher", async () => {
    for (const limits of [{}, { depth: 10_000 }]) {
      const { post, form, waiting, errors } = lab({ limits });
      const [token = ""] = await waiting("open", "one");
      for (const [path, body] of [
        ["/runs", `{"workflow":"echo","input":${deep}}`],
        ["/runs/one/fork", `{"edit":{"anything":${deep}}}`],
        ["/runs/one/plan", `{"edit":{"anything":${deep}}}`],
        [`/resume/${token}`, `{"value":${deep}}`],
      ] as const)
        expect([path, (await post(path, body)).status]).toEqual([path, 400]);
      expect((await form(`/resume/${token}`, { value: deep })).status).toBe(400);
      expect(errors).toEqual([]);
    }
    const { post } = lab();
    expect((await post("/runs/one/cancel", `{"reason":${deep}}`)).status).toBe(400);
  });

  test("deep nesting in a signed webhook is 400", async () => {
    const hook = webhook({ profile: github({ secrets: "a secret for tests, of no worth" }) }, (event) => {
      event.json();
    });
    expect((await hook(requestOf(signGithub("a secret for tests, of no worth", deep)))).status).toBe(400);
  });

  test("a page of entries is cut before a value of many holes becomes a large reply", () => {
    const sparse = new Array<number>(40_000_000);
    const began = process.threadCpuUsage();
    expect(JSON.stringify(toJson({ sparse })).length).toBeLessThan(10_000_000);
    expect(process.threadCpuUsage(began).user).toBeLessThan(2_000_000);
  });
});

describe("webhooks", () => {
  const key = Buffer.from("a key of the sender of 32 bytes!");
  const at = 1_700_000_000;
  const profile = standardWebhooks({ secrets: `whsec_${key.toString("base64")}` });
  const take = (request: Request): Promise<Response> =>
    webhook({ profile, now: () => at * 1_000 }, ({ id }) => ({ id }))(request);

  test("a message is delivered again under a longer id: an id with a dot is refused", async () => {
    const signed = signStandard(key, "msg", at, `${at + 1}.{}`);
    expect((await take(requestOf(signed))).status).toBe(202);
    // The same signed text, cut at another dot: another id, another time, another body.
    const cut = { ...signed.headers, "webhook-id": `msg.${at}`, "webhook-timestamp": String(at + 1) };
    expect((await take(requestOf({ body: "{}", headers: cut }))).status).toBe(401);
    for (const id of ["msg.1", ".", "a.", ".a"])
      expect((await take(requestOf(signStandard(key, id, at, "{}")))).status).toBe(401);
  });
});
