/** Malformed requests from a seed: each is the bytes of one connection. */

import type { Random } from "@durable/testing";

const latin = (text: string): Uint8Array => Buffer.from(text, "latin1");

const paths = [
  "/runs",
  "/runs/one",
  "/runs/one/entries",
  "/runs/one/streams/say",
  "/runs/one/fork",
  "/runs/one/cancel",
  "/resume/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "/openapi.json",
  "/hook",
  "/",
];
const methods = [
  "GET",
  "POST",
  "HEAD",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "get",
  "",
  "FOO",
  "P\0ST",
];
const types = [
  "application/json",
  "application/json; charset=utf-16",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/json, application/json",
  "*/*",
  ";",
  "",
];
const bodies = [
  '{"workflow":"echo","input":1}',
  '{"workflow":"none"}',
  '{"value":{"approved":true}}',
  "value=1&id=2",
  '{"from":"say"}',
  '{"reason":"x"}',
  "[]",
  "null",
  '""',
];
const odd = [
  "%00",
  "%2e%2e%2f",
  "..",
  "%",
  "%zz",
  "%ff%fe",
  "'",
  '"',
  "`",
  "<script>",
  "%0d%0aset-cookie:x",
  "é",
  "\\",
  "{}",
  "|",
  "%F0%9F%92%A9",
];

const bytesOf = (random: Random, length: number): Uint8Array =>
  Uint8Array.from({ length }, () => random.between(0, 255));

function oddPath(random: Random): string {
  const parts = Array.from({ length: random.between(1, 4) }, () =>
    random.chance(0.5)
      ? random.pick(odd)
      : random.pick(["runs", "one", "resume", "streams", "fork", "x".repeat(300)]),
  );
  const names = [
    "from",
    "limit",
    "cursor",
    "status",
    "parent",
    "after",
    "attempt",
    "value",
    "$where",
    "__proto__",
  ];
  const query = Array.from(
    { length: random.between(0, 3) },
    () => `${random.pick(names)}=${random.pick(odd)}`,
  );
  return `/${parts.join("/")}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

function oddBody(random: Random): string {
  const text = random.pick(bodies);
  const at = random.between(0, text.length);
  switch (random.between(0, 8)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return `${text.slice(0, at)}${String.fromCharCode(random.between(0, 255))}${text.slice(at)}`;
    case 2:
      return `{"value":${"[".repeat(random.between(60, 3_000))}`;
    case 3:
      return `{${Array.from({ length: random.between(1, 800) }, (_, i) => `"k${i}":${i}`).join()}}`;
    case 4:
      return `{"value":"${"x".repeat(random.between(1, 20_000))}"`;
    case 5:
      return Buffer.from(bytesOf(random, random.between(1, 200))).toString("latin1");
    case 6:
      return text.replaceAll(":", random.pick(["", "::", ";", "=", ":\u0000"]));
    case 7:
      return `{"__proto__":{"x":1},"constructor":{"prototype":{}},${text.slice(1)}`;
    default:
      return text + text;
  }
}

const oddHeaders: readonly ((random: Random) => string)[] = [
  () => "content-encoding: gzip",
  () => "transfer-encoding: gzip, chunked",
  () => "content-length: 7\r\ncontent-length: 8",
  () => "content-length: -1",
  () => "content-length: 99999999999999999999",
  () => "expect: 100-continue",
  () => "expect: the-worst",
  () => "upgrade: websocket\r\nconnection: upgrade",
  () => " folded: line",
  () => "no colon here",
  () => "x\0y: z",
  () => "host: other",
  (random) => `last-event-id: ${random.pick(["x", "1:1:1", "-1:-1", "9".repeat(400), "1:end, 1:0", "\xff"])}`,
  (random) => `x: ${"y".repeat(random.between(1, 20_000))}`,
  (random) => `x-hub-signature-256: sha256=${"0".repeat(random.between(0, 80))}`,
  (random) => `x-hub-signature-256: sha256=${"a".repeat(64)}\r\nx-hub-signature-256: ${random.pick(odd)}`,
  (random) => `authorization: ${Buffer.from(bytesOf(random, 40)).toString("latin1")}`,
  (random) => `cookie: ${"a=b; ".repeat(random.between(1, 500))}`,
];

/** A request that is valid enough to be parsed. */
function plausible(random: Random): Uint8Array {
  const body = random.chance(0.6) ? oddBody(random) : "";
  const method = random.chance(0.6) ? "POST" : random.pick(methods);
  const path = random.chance(0.5) ? random.pick(paths) : oddPath(random);
  const head = [
    `${method} ${path} ${random.chance(0.97) ? "HTTP/1.1" : random.pick(["HTTP/1.0", "HTTP/9.9", "HTTP", ""])}`,
  ];
  if (random.chance(0.95)) head.push("host: lab.example");
  head.push(`content-type: ${random.pick(types)}`);
  const chunked = random.chance(0.3);
  const lie = random.chance(0.2) ? random.between(-5, 50) : 0;
  if (chunked) head.push("transfer-encoding: chunked");
  else if (body !== "") head.push(`content-length: ${Math.max(0, body.length + lie)}`);
  if (random.chance(0.4)) head.push(random.pick(oddHeaders)(random));
  const size = random.chance(0.9)
    ? body.length.toString(16)
    : random.pick(["zz", "-1", "ffffffffffffffffff", ""]);
  const sent = chunked ? `${size}\r\n${body}\r\n${random.chance(0.9) ? "0\r\n\r\n" : ""}` : body;
  return latin(`${head.join("\r\n")}\r\n\r\n${sent}`);
}

/** Valid HTTP on a real route, with an invalid request. */
function wellPut(random: Random): Uint8Array {
  const body = random.chance(0.15) ? "x".repeat(random.between(16_000, 18_000)) : oddBody(random);
  const [path, more] = random.pick<[string, string]>([
    ["/runs", ""],
    ["/runs/one/fork", ""],
    ["/runs/one/cancel", ""],
    [random.pick(paths), ""],
    ["/hook", `x-hub-signature-256: sha256=${"0".repeat(64)}\r\n`],
  ]);
  const type = random.chance(0.8) ? "application/json" : random.pick(types);
  const head = `POST ${path} HTTP/1.1\r\nhost: lab.example\r\nconnection: close\r\ncontent-type: ${type}\r\n${more}`;
  return latin(`${head}content-length: ${latin(body).length}\r\n\r\n${body}`);
}

/** One malformed request. */
export function malformed(random: Random): Uint8Array {
  const kind = random.next();
  if (kind < 0.05) return bytesOf(random, random.between(1, 2_000));
  if (kind < 0.5) return wellPut(random);
  const bytes = plausible(random);
  if (kind < 0.8) return bytes;
  if (kind < 0.85) return bytes.slice(0, random.between(1, bytes.length));
  const damaged = Uint8Array.from(bytes);
  for (let n = random.between(1, 8); n > 0; n--)
    damaged[random.between(0, damaged.length - 1)] = random.between(0, 255);
  return kind < 0.95 ? damaged : Buffer.concat([damaged, plausible(random), bytesOf(random, 50)]);
}
