import { inspect } from "node:util";
import { DurableError } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { systemWorld } from "@durable/core/storage";
import { AwsV4Signer } from "aws4fetch";
import { describe, expect, test } from "vitest";
import { head } from "./head.ts";
import { s3Bucket, Signer } from "../src/index.ts";
import { credentials } from "./server.ts";

type Sent = { readonly url: string; readonly init: RequestInit };

/** A store with scripted replies, one for each request. */
function scripted(...replies: (() => Response)[]) {
  const sent: Sent[] = [];
  const bucket = s3Bucket({
    ...credentials,
    bucket: "journal",
    fetch: (url, init) => {
      sent.push({ url, init });
      const reply = replies[Math.min(sent.length, replies.length) - 1];
      return reply === undefined ? Promise.reject(new TypeError("fetch failed")) : Promise.resolve(reply());
    },
  });
  return { bucket, sent };
}

const error = (status: number, code: string) => () =>
  new Response(`<Error><Code>${code}</Code><Message>said the store</Message></Error>`, { status });
const written = () => new Response("", { status: 200, headers: { etag: '"1"' } });

async function codeOf(work: Promise<unknown>): Promise<string> {
  const thrown: unknown = await work.catch((reason: unknown) => reason);
  return DurableError.is(thrown) ? thrown.code : String(thrown);
}

describe("what a store answers is read as it means it", () => {
  test("H15 412 is taken; 409, 429, 5xx and 200 without an ETag are not known; 403 and 404 are final", async () => {
    expect(await scripted(written).bucket.create("a", "")).toBe(true);
    expect(await scripted(error(412, "PreconditionFailed")).bucket.create("a", "")).toBe(false);
    const passing = [
      error(409, "ConditionalRequestConflict"),
      error(429, "SlowDown"),
      error(503, "SlowDown"),
    ];
    for (const reply of [
      ...passing,
      error(500, "InternalError"),
      error(408, "RequestTimeout"),
      () => new Response(""),
    ])
      expect(await codeOf(scripted(reply).bucket.create("a", "")), reply().statusText).toBe("storage-busy");
    const half = () =>
      new Response("<Error><Code>InternalError</Code></Error>", { headers: { etag: '"1"' } });
    expect(await codeOf(scripted(half).bucket.create("a", ""))).toBe("storage-busy");
    expect(await codeOf(scripted(error(403, "AccessDenied")).bucket.create("a", ""))).toBe(
      "storage-readonly",
    );
    expect(await codeOf(scripted(error(404, "NoSuchBucket")).bucket.create("a", ""))).toBe("no-storage");
    expect(await codeOf(scripted(error(507, "InsufficientStorage")).bucket.create("a", ""))).toBe(
      "storage-full",
    );
    expect(await codeOf(scripted(error(418, "Teapot")).bucket.create("a", ""))).toBe("storage-failed");
    expect(await codeOf(scripted(error(501, "NotImplemented")).bucket.create("a", ""))).toBe("no-storage");
    expect(await codeOf(scripted(error(301, "PermanentRedirect")).bucket.get("a"))).toBe("no-storage");
  });

  test("404 is nothing for a key, and an error for a bucket", async () => {
    expect(await scripted(error(404, "NoSuchKey")).bucket.get("a")).toBeNull();
    expect(await codeOf(scripted(error(404, "NoSuchBucket")).bucket.get("a"))).toBe("no-storage");
    expect(await codeOf(scripted(error(404, "NoSuchBucket")).bucket.delete(["a"]))).toBe("no-storage");
  });

  test("an error says what the store said, and nothing of the credentials", async () => {
    const thrown: unknown = await scripted(error(403, "AccessDenied"))
      .bucket.get("a/b")
      .catch((reason) => reason);
    expect(String(thrown)).toMatch(/a\/b in bucket journal .* 403 AccessDenied said the store/);
    expect(String(thrown)).not.toContain(credentials.secretAccessKey);
  });

  test("a key with dot segments or an empty name reaches no other bucket: it is refused, and nothing is sent", async () => {
    const { bucket, sent } = scripted(written);
    for (const key of ["", ".", "..", "../other-bucket/x", "a/../../b", "a/.", "a/./b", "a//b", "a/", "/a"]) {
      expect(await codeOf(bucket.create(key, "")), key).toBe("invalid-name");
      expect(await codeOf(bucket.put(key, "")), key).toBe("invalid-name");
      expect(await codeOf(bucket.get(key)), key).toBe("invalid-name");
      expect(await codeOf(bucket.delete([key])), key).toBe("invalid-name");
    }
    expect(sent).toEqual([]);
    await bucket.put("a/..b/c.", "");
    expect(sent[0]?.url).toBe("https://s3.us-east-1.amazonaws.com/journal/a/..b/c.");
    const above = s3Bucket({
      ...credentials,
      bucket: "journal",
      prefix: "../",
      fetch: async () => written(),
    });
    expect(await codeOf(above.get("other-bucket/x"))).toBe("invalid-name");
    for (const name of ["", ".", "..", "a/b"])
      expect(() => s3Bucket({ ...credentials, bucket: name }), name).toThrow(/name of a bucket/);
  });

  test("a store or a proxy that repeats the credentials does not bring them into an error", async () => {
    const { accessKeyId, secretAccessKey } = credentials;
    const sessionToken = "a token of a session";
    const echo = `${accessKeyId} ${secretAccessKey} ${sessionToken}`;
    const open = (send: () => Promise<Response>) =>
      s3Bucket({ ...credentials, sessionToken, bucket: "journal", fetch: send });
    const told = open(async () => new Response(`<Error><Message>${echo}</Message></Error>`, { status: 403 }));
    const broken = open(() =>
      Promise.reject(new TypeError(`no route for ${echo}`, { cause: new Error(echo) })),
    );
    for (const bucket of [told, broken]) {
      const thrown = inspect(await bucket.get("a").catch((reason: unknown) => reason), { depth: 10 });
      expect(thrown).toContain("[hidden]");
      for (const hidden of [accessKeyId, secretAccessKey, sessionToken]) expect(thrown).not.toContain(hidden);
    }
  });

  test("an endpoint with a key in its query is refused at once, and not repeated", () => {
    for (const endpoint of ["https://s3.example.com/?sig=hush", "https://s3.example.com#hush"]) {
      const make = (): unknown => s3Bucket({ ...credentials, bucket: "journal", endpoint });
      expect(make).toThrow(/has a query or a fragment/);
      expect(make).not.toThrow(/hush/);
    }
  });

  test("a write is sent again with the same bytes until the store says something", async () => {
    const { bucket, sent } = scripted(
      error(503, "SlowDown"),
      error(409, "ConditionalRequestConflict"),
      written,
    );
    const world = {
      ...systemWorld,
      timer: (_ms: number, fire: () => void) => (queueMicrotask(fire), () => {}),
    };
    const layout = {
      ...bucket,
      get: (key: string) => Promise.resolve(key === "layout" ? '{"v":3}' : null),
      create: bucket.create.bind(bucket),
    };
    const storage = new RemoteStorage(
      {
        ...layout,
        put: bucket.put.bind(bucket),
        list: bucket.list.bind(bucket),
        delete: bucket.delete.bind(bucket),
      },
      { world },
    );
    await storage.append({ locator: "abc", position: 0, batch: "batch", head });
    expect(sent.map(({ init }) => init.method)).toEqual(["PUT", "PUT", "PUT", "PUT"]);
    const bodies = sent.map(({ init }) => new TextDecoder().decode(init.body as Uint8Array));
    expect(new Set(bodies.slice(0, 3)).size).toBe(1);
    expect(sent.every(({ init }) => new Headers(init.headers).get("if-none-match") === "*")).toBe(true);
  });

  test("a page of nothing is passed over", async () => {
    const page = (keys: string, more: string) => () =>
      new Response(`<ListBucketResult>${keys}${more}</ListBucketResult>`);
    const { bucket, sent } = scripted(
      page("", "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>"),
      page("<Contents><Key>a%20b</Key></Contents>", "<IsTruncated>false</IsTruncated>"),
    );
    expect(await bucket.list({ prefix: "a" })).toEqual({ keys: ["a b"], more: false });
    expect(new URL(sent[1]!.url).searchParams.get("continuation-token")).toBe("a&b");
  });
});

describe("signatures", () => {
  test("are those of the published example", async () => {
    const signer = new Signer(
      { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" },
      { region: "us-east-1", service: "s3" },
    );
    const url = new URL("https://examplebucket.s3.amazonaws.com/test.txt");
    const signed = await signer.sign(
      { method: "GET", url, headers: { range: "bytes=0-9" }, body: new Uint8Array() },
      new Date("2013-05-24T00:00:00Z"),
    );
    expect(signed["authorization"]).toMatch(
      /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/,
    );
  });

  test("for another service are those that another signer makes", async () => {
    const scope = { region: "eu-central-1", service: "sqs" };
    const now = new Date("2026-03-04T05:06:07Z");
    const url = new URL("https://sqs.eu-central-1.amazonaws.com/");
    const body = new TextEncoder().encode('{"QueueUrl":"runs"}');
    const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" };
    const signed = await new Signer(credentials, scope).sign({ method: "POST", url, headers, body }, now);
    const theirs = await new AwsV4Signer({
      ...credentials,
      ...scope,
      method: "POST",
      url: url.href,
      headers: { ...headers, "x-amz-content-sha256": signed["x-amz-content-sha256"] ?? "" },
      body,
      datetime: "20260304T050607Z",
      allHeaders: true,
    }).sign();
    expect(signed["authorization"]).toBe(theirs.headers.get("authorization"));
  });

  test("carry the token of temporary credentials, and change with the day", async () => {
    const signer = new Signer({ ...credentials, sessionToken: "a token" }, { region: "auto", service: "s3" });
    const ask = {
      method: "GET",
      url: new URL("http://localhost/b/k?a=1"),
      headers: {},
      body: new Uint8Array(),
    };
    const [one, two] = [await signer.sign(ask, new Date(0)), await signer.sign(ask, new Date(86_400_000))];
    expect(one["x-amz-security-token"]).toBe("a token");
    expect(one["authorization"]).toContain("x-amz-security-token");
    expect(one["authorization"]).not.toBe(two["authorization"]);
  });
});
