/** Bodies within limits: counted while they are read, refused before they are parsed. */

import { defaultLimits, HttpError, readForm, readJson } from "@durable/http";
import { seeded } from "@durable/testing";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.restoreAllMocks());

const type = { "content-type": "application/json" };

function request(body: BodyInit | null, headers: Record<string, string> = type): Request {
  return new Request("http://lab.example/", {
    method: "POST",
    headers,
    body,
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
  });
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "read";
  } catch (error) {
    return error instanceof HttpError ? error.code : String(error);
  }
}

/** A body without a length, in pieces; `pulled` is the number of pieces that were read. */
function inPieces(pieces: readonly Uint8Array[] | (() => Uint8Array)): {
  body: ReadableStream;
  pulled: () => number;
  gone: () => boolean;
} {
  let pulled = 0;
  let gone = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const piece = typeof pieces === "function" ? pieces() : pieces[pulled];
        pulled += 1;
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
      cancel: () => {
        gone = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, pulled: () => pulled, gone: () => gone };
}

test("H64 a body of the limit is read, with a length or in pieces; one byte more is refused", async () => {
  const limits = { bytes: 1_000 };
  const text = (length: number): string => `"${"x".repeat(length - 2)}"`;
  for (const [length, expected] of [
    [1_000, "read"],
    [1_001, "body-too-large"],
  ] as const) {
    expect(await codeOf(readJson(request(text(length)), limits))).toBe(expected);
    const bytes = new TextEncoder().encode(text(length));
    for (const size of [1, 7, 999, 5_000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.slice(i * size, (i + 1) * size),
      );
      expect(await codeOf(readJson(request(inPieces(pieces).body), limits)), `${size}`).toBe(expected);
    }
  }
});

test("H64 a limit that is undefined counts as left out", async () => {
  const limits = { bytes: undefined, depth: undefined, keys: undefined, stringBytes: undefined };
  const mebibyte = 1024 * 1024;
  expect(await codeOf(readJson(request(" ".repeat(mebibyte - 2) + "[]"), limits))).toBe("read");
  expect(await codeOf(readJson(request(" ".repeat(mebibyte - 1) + "[]"), limits))).toBe("body-too-large");
  expect(await codeOf(readJson(request("[".repeat(65) + "]".repeat(65)), limits))).toBe("body-too-deep");
});

test("H64 a body without end is refused at the limit, and its stream is cancelled", async () => {
  const piece = new Uint8Array(64 * 1024).fill(0x20);
  const { body, pulled, gone } = inPieces(() => piece);
  expect(await codeOf(readJson(request(body)))).toBe("body-too-large");
  expect([pulled(), gone()]).toEqual([17, true]);
});

test("H64 a length that is too large is refused before anything is read", async () => {
  const { body, pulled } = inPieces(() => new Uint8Array(1));
  const announced = request(body, { ...type, "content-length": "1048577" });
  expect([await codeOf(readJson(announced)), pulled()]).toEqual(["body-too-large", 0]);
});

test("H64 a compressed body is refused before anything is read", async () => {
  for (const encoding of ["gzip", "br", "deflate", "identity, gzip", "x"]) {
    const { body, pulled } = inPieces(() => new Uint8Array(1));
    const packed = request(body, { ...type, "content-encoding": encoding });
    expect([encoding, await codeOf(readJson(packed)), pulled()]).toEqual([
      encoding,
      "unsupported-encoding",
      0,
    ]);
  }
  expect(await readJson(request("1", { ...type, "content-encoding": "identity" }))).toBe(1);
});

test("H64 a body that is slow is given up in time, however steady its drip", async () => {
  const limits = { bodyTimeout: 30 };
  const never = new ReadableStream({}, { highWaterMark: 0 });
  expect(await codeOf(readJson(request(never), limits))).toBe("body-too-slow");
  let gone = false;
  const dripping = new ReadableStream({
    pull: async (controller) => {
      await new Promise((done) => setTimeout(done, 5));
      if (!gone) controller.enqueue(new Uint8Array([0x20]));
    },
    cancel: () => {
      gone = true;
    },
  });
  expect([await codeOf(readJson(request(dripping), limits)), gone]).toEqual(["body-too-slow", true]);
});

test("a body that breaks off is the client's fault", async () => {
  const broken = new ReadableStream({
    pull: (controller) => controller.error(new Error("ECONNRESET")),
  });
  expect(await codeOf(readJson(request(broken)))).toBe("incomplete-body");
});

test("a body that was already read is a server error with its own code", async () => {
  const used = request("1");
  await used.text();
  const error = await readJson(used).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "body-used", status: 500 });
});

test.each([
  ["application/json", "read"],
  ["application/json; charset=utf-8", "read"],
  ["APPLICATION/JSON ;x=y", "read"],
  ["application/json-seq", "unsupported-type"],
  ["application/jsonp", "unsupported-type"],
  ["text/json", "unsupported-type"],
  ["application/json, text/plain", "unsupported-type"],
  ["text/plain; application/json", "unsupported-type"],
  ["application/x-www-form-urlencoded", "unsupported-type"],
  ["multipart/form-data; boundary=application/json", "unsupported-type"],
])("the media type %j: %s", async (given, expected) => {
  expect(await codeOf(readJson(request("{}", { "content-type": given })))).toBe(expected);
});

test("invalid JSON is refused without quoting it", async () => {
  for (const text of [
    "",
    " ",
    "{",
    "undefined",
    "{'a':1}",
    "[1,]",
    "1 2",
    "NaN",
    '"\u0001"',
    "\uFEFF",
    "hunter2",
  ]) {
    const error = await readJson(request(text)).catch((thrown: unknown) => thrown);
    expect([text, (error as HttpError).code]).toEqual([text, "invalid-json"]);
    expect(String(error)).not.toContain("hunter2");
  }
  expect(await codeOf(readJson(request(new Uint8Array([0x22, 0xff, 0x22]))))).toBe("invalid-json");
  expect(await readJson(request("\uFEFF[1]"))).toEqual([1]);
});

test("H52 a depth bomb never reaches JSON.parse", async () => {
  const parse = vi.spyOn(JSON, "parse");
  for (const bomb of ["[".repeat(100_000), '{"a":'.repeat(100_000), `${"[".repeat(65)}${"]".repeat(65)}`])
    expect(await codeOf(readJson(request(bomb)))).toBe("body-too-deep");
  expect(parse).not.toHaveBeenCalled();
  expect(await codeOf(readJson(request(`${"[".repeat(64)}${"]".repeat(64)}`)))).toBe("read");
  expect(parse).toHaveBeenCalledTimes(1);
});

test("members and strings are counted; the content of strings is not counted as structure", async () => {
  const object = (count: number): string =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join()}}`;
  expect(await codeOf(readJson(request(object(10_000))))).toBe("read");
  expect(await codeOf(readJson(request(object(10_001))))).toBe("too-many-keys");
  const limits = { stringBytes: 10, bytes: 10_000 };
  expect(await codeOf(readJson(request(`["${"x".repeat(10)}"]`), limits))).toBe("read");
  expect(await codeOf(readJson(request(`["${"x".repeat(11)}"]`), limits))).toBe("string-too-long");
  const inside = `"${'[{:\\"\\\\'.repeat(20_000)}"`;
  expect(await readJson(request(inside))).toBe('[{:"\\'.repeat(20_000));
});

test("what is counted is what JSON.parse finds, for random texts", async () => {
  const random = seeded(7);
  for (let i = 0; i < 500; i++) {
    const value = randomValue(() => random.next(), 0);
    const text = JSON.stringify(value, null, i % 3);
    const { depth, keys } = measure(value);
    const at = { depth: Math.max(depth, 1), keys: Math.max(keys, 1) };
    expect(await codeOf(readJson(request(text), at)), text).toBe("read");
    if (depth > 1)
      expect(await codeOf(readJson(request(text), { ...at, depth: depth - 1 }))).toBe("body-too-deep");
    if (keys > 1)
      expect(await codeOf(readJson(request(text), { ...at, keys: keys - 1 }))).toBe("too-many-keys");
  }
});

function randomValue(next: () => number, depth: number): unknown {
  const texts = ["", "a", '"', "\\", "[{:", "é\u2028", "\u0000", "]}"];
  const text = (): string => texts[Math.floor(next() * texts.length)] as string;
  const kind = depth > 6 ? 0 : Math.floor(next() * 4);
  if (kind === 0) return text();
  if (kind === 1) return Math.floor(next() * 100) / 3;
  const items = Array.from({ length: Math.floor(next() * 4) }, () => randomValue(next, depth + 1));
  return kind === 2 ? items : Object.fromEntries(items.map((item, i) => [`${text()}${i}`, item]));
}

function measure(value: unknown): { depth: number; keys: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, keys: 0 };
  const parts = Object.values(value).map(measure);
  const own = Array.isArray(value) ? 0 : parts.length;
  return {
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    keys: own + parts.reduce((sum, { keys }) => sum + keys, 0),
  };
}

test("forms are read as forms, with their fields counted", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  expect([...(await readForm(request("a=1&b=%C3%A9&a=2", form)))]).toEqual([
    ["a", "1"],
    ["b", "é"],
    ["a", "2"],
  ]);
  expect(await codeOf(readForm(request("a&".repeat(10_000), form)))).toBe("too-many-keys");
  expect(await codeOf(readForm(request(new Uint8Array([0x61, 0xff]), form)))).toBe("invalid-body");
  expect(await codeOf(readForm(request("{}")))).toBe("unsupported-type");
  expect(defaultLimits.keys).toBe(10_000);
});
