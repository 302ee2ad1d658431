/** Connections that break, on real sockets: what is sent again, what is answered then, and what is thrown at the end. */

import { DurableError } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { head } from "./head.ts";
import { s3Bucket, type S3Options } from "../src/index.ts";
import { startBreakingServer, type BreakingServer, type Fault } from "./breaking-server.ts";
import { credentials } from "./server.ts";

let server: BreakingServer;
beforeAll(async () => {
  server = await startBreakingServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  server.break([]);
  server.objects.clear();
  server.objects.set("there", "a text");
  server.requests.length = 0;
});

const open = (options: Partial<S3Options> = {}): Bucket =>
  s3Bucket({ ...credentials, endpoint: server.endpoint, bucket: "journal", ...options });

async function thrownBy(work: Promise<unknown>): Promise<DurableError> {
  const thrown: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!DurableError.is(thrown)) throw new Error(`Not a DurableError: ${String(thrown)}`, { cause: thrown });
  return thrown;
}

interface Operation {
  readonly name: string;
  readonly work: (bucket: Bucket) => Promise<unknown>;
  readonly gives: unknown;
  readonly request: string;
  /** What the store has then. */
  readonly leaves: Readonly<Record<string, string>>;
}

const there = { there: "a text" };
const operations: readonly Operation[] = [
  { name: "get", work: (b) => b.get("there"), gives: "a text", request: "GET there", leaves: there },
  { name: "get of nothing", work: (b) => b.get("no"), gives: null, request: "GET no", leaves: there },
  {
    name: "put",
    work: (b) => b.put("there", "new"),
    gives: undefined,
    request: "PUT there",
    leaves: { there: "new" },
  },
  {
    name: "list",
    work: (b) => b.list({ prefix: "" }),
    gives: { keys: ["there"], more: false },
    request: "GET ",
    leaves: there,
  },
  { name: "delete", work: (b) => b.delete(["there"]), gives: undefined, request: "DELETE there", leaves: {} },
  {
    name: "create where there is something",
    work: (b) => b.create("there", "x"),
    gives: false,
    request: "PUT there",
    leaves: there,
  },
];
// A 204 has no body that could be cut.
const canBreak = (fault: Fault, { name }: Operation): boolean => fault !== "cut" || name !== "delete";
const cases = (["unread", "lost", "cut"] as const).flatMap((fault) =>
  operations.filter((each) => canBreak(fault, each)).map((operation) => ({ fault, ...operation })),
);

describe("a connection that breaks", () => {
  test.each(cases)("$fault, twice: $name is sent again", async ({ fault, work, gives, request, leaves }) => {
    server.break([fault, fault]);
    expect(await work(open())).toEqual(gives);
    expect(server.requests).toEqual([request, request, request]);
    expect(Object.fromEntries(server.objects)).toEqual(leaves);
  });

  test.each(cases)(
    "$fault, always: $name fails as busy, with its cause",
    async ({ fault, work, request }) => {
      server.break(new Array<Fault>(20).fill(fault));
      const thrown = await thrownBy(work(open()));
      expect(thrown.code).toBe("storage-busy");
      expect(thrown.details).toMatchObject({ attempts: 3 });
      expect(thrown.cause).toBeInstanceOf(Error);
      expect(thrown.message).toContain(`in bucket journal: the connection to ${server.host} failed 3 times`);
      expect(thrown.message).toMatch(/\(.*(?:ECONNRESET|other side closed|socket hang up|EPIPE).*\)/);
      expect(server.requests).toEqual([request, request, request]);
    },
  );

  test("a create that was not done is done once, and knows that it won", async () => {
    server.break(["unread", "unread"]);
    expect(await open().create("new", "mine")).toBe(true);
    expect(server.objects.get("new")).toBe("mine");
  });

  test("a create whose reply was lost meets its own object: false, as for anybody's", async () => {
    server.break(["lost"]);
    expect(await open().create("new", "mine")).toBe(false);
    expect(server.objects.get("new")).toBe("mine");
  });

  test("a create never writes over what another writer created meanwhile", async () => {
    server.break(["unread"]);
    const creating = open().create("new", "mine");
    server.objects.set("new", "another's");
    expect(await creating).toBe(false);
    expect(server.objects.get("new")).toBe("another's");
  });

  test("of many keys only the one whose request broke is deleted again", async () => {
    for (const key of ["a", "b", "c"]) server.objects.set(key, "");
    server.break(["lost"], /b$/);
    await open().delete(["a", "b", "c"]);
    expect(server.requests.toSorted()).toEqual(["DELETE a", "DELETE b", "DELETE b", "DELETE c"]);
    expect([...server.objects.keys()]).toEqual(["there"]);
  });

  test("an answer that refuses is final, and not asked for again", async () => {
    const refuse = (): Promise<Response> =>
      Promise.resolve(new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 }));
    let asked = 0;
    const bucket = open({ fetch: () => ((asked += 1), refuse()) });
    expect((await thrownBy(bucket.create("a", "b"))).code).toBe("storage-readonly");
    expect(asked).toBe(1);
  });

  test("each attempt is signed anew, with the same bytes", async () => {
    const sent: RequestInit[] = [];
    const bucket = open({
      fetch: async (_url, init) => {
        sent.push(init);
        if (sent.length < 3) throw new TypeError("fetch failed");
        return new Response("", { headers: { etag: '"1"' } });
      },
    });
    expect(await bucket.create("a", "text")).toBe(true);
    expect(sent.map(({ body }) => new TextDecoder().decode(body as Uint8Array))).toEqual(
      new Array(3).fill("text"),
    );
    for (const { headers } of sent) expect(new Headers(headers).get("if-none-match")).toBe("*");
    expect(new Set(sent.map(({ signal }) => signal)).size).toBe(3);
  });
});

describe("what is thrown", () => {
  test("a store that does not answer is busy after the time-out, asked once", async () => {
    server.break(["silent"]);
    const thrown = await thrownBy(open({ timeout: 1_500 }).get("there"));
    expect(thrown.code).toBe("storage-busy");
    expect(thrown.cause).toMatchObject({ name: "TimeoutError" });
    expect(thrown.message).toContain(`${server.host} did not answer within 1500 ms`);
    expect(server.requests).toEqual(["GET there"]);
  });

  test("a host that refuses connections is named, without credentials", async () => {
    const gone = await startBreakingServer();
    await gone.stop();
    const thrown = await thrownBy(open({ endpoint: gone.endpoint }).put("a/b", "text"));
    expect(thrown.code).toBe("storage-busy");
    expect(thrown.message).toMatch(
      new RegExp(
        `^Could not write a/b in bucket journal: the connection to ${gone.host} failed 3 times .*ECONNREFUSED`,
      ),
    );
    expect(thrown.message).toContain("may have been written");
    for (const secret of [credentials.accessKeyId, credentials.secretAccessKey, "Signature"])
      expect(thrown.message).not.toContain(secret);
  });

  test("a read says nothing about writes", async () => {
    server.break(["lost", "lost", "lost"]);
    expect((await thrownBy(open().get("there"))).message).not.toContain("written");
  });

  test("an endpoint that is no URL, or has a password in it, is refused at once, and not repeated", () => {
    for (const endpoint of ["localhost 9000", "localhost:9000", "http://user:hush@localhost:9000"]) {
      const make = (): unknown => open({ endpoint });
      expect(make).toThrow(expect.objectContaining({ code: "invalid-options" }));
      expect(make).not.toThrow(/hush/);
    }
  });
});

describe("a journal behind connections that break", () => {
  test.each(["unread", "lost", "cut"] as const)("H15 %s: a batch is recorded once", async (fault) => {
    const storage = new RemoteStorage(open());
    server.break([fault], /^PUT runs\//);
    await storage.append({ locator: "abc", position: 0, batch: "one", head });
    server.break([fault, fault, fault, fault], /^PUT runs\//);
    await storage.append({ locator: "abc", position: 1, batch: "two", head });
    const another = new RemoteStorage(open());
    expect(await another.read("abc")).toMatchObject({ batches: ["one", "two"], length: 2 });
  });
});
