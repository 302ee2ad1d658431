/** The command as a user starts it. */

import { randomBytes } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { killDemos, type Ended } from "example-llm/process";
import { afterEach, expect, inject, test, vi } from "vitest";
import { email } from "./support/desk.ts";
import { Place, ServerProcess } from "./support/server-process.ts";

// Each starts a process.
vi.setConfig({ testTimeout: 90_000 });

const places: Place[] = [];
const place = (): Place => {
  const made = new Place();
  places.push(made);
  return made;
};

afterEach(async () => {
  killDemos();
  for (const made of places.splice(0)) await made.remove();
});

async function post(url: string): Promise<number> {
  const body = JSON.stringify({ type: "email.received", email: email("Please put 1.1.0 on staging.") });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/webhook`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

test("says whom it trusts, serves, and ends on SIGTERM", async () => {
  const server = new ServerProcess(place());
  expect(await post(await server.url())).toBe(202);
  server.signal("SIGTERM");
  const { code, out, err } = await server.ended;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^webhook +http:\/\/127\.0\.0\.1:\d+\/webhook$/m);
  expect(out).toMatch(/^trust +unsigned requests are taken, from this machine only \(no WEBHOOK_SECRET\)$/m);
  expect(out).toMatch(
    /^people +anybody may ask, and only the sender of a request may approve it .*this machine only$/m,
  );
  expect(out).toMatch(/^model +scripted, offline/m);
  expect(out).toMatch(/^mail +\.eml files in /m);
});

const lists = { MAY_ASK: "ada@example.com, bob@example.com", MAY_APPROVE: "grace@example.com" };

test("WEBHOOK_SECRET and lists let it bind elsewhere, and turn unsigned requests away", async () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const server = new ServerProcess(place(), { HOST: "0.0.0.0", WEBHOOK_SECRET: secret, ...lists });
  const { port } = new URL(await server.url());
  expect(await post(`http://127.0.0.1:${port}`)).toBe(401);
  const { out } = await server.kill();
  expect(out).toMatch(/^trust +signed requests only \(WEBHOOK_SECRET\)$/m);
  expect(out).toMatch(/^people +2 addresses may ask \(MAY_ASK\), 1 address may approve \(MAY_APPROVE\)$/m);
  expect(out).not.toContain(secret.slice(6, 20));
});

const wrong: [Record<string, string>, RegExp][] = [
  [
    { HOST: "0.0.0.0" },
    /^HOST is "0\.0\.0\.0", which other machines can reach, but WEBHOOK_SECRET is not set\..*\n$/,
  ],
  [{ HOST: "::" }, /^HOST is "::", .*\n$/],
  [
    { HOST: "0.0.0.0", WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}` },
    /^HOST is "0\.0\.0\.0", .*MAY_ASK and MAY_APPROVE are not set\..*\n$/,
  ],
  [{ MAY_ASK: "ada@example.com" }, /^MAY_ASK and MAY_APPROVE belong together\..*\n$/],
  [{ MAY_ASK: "ada@example.com", MAY_APPROVE: "grace" }, /^MAY_APPROVE contains "grace".*\n$/],
  [{ SENDER_LIMIT: "0" }, /^SENDER_LIMIT is "0"\..*\n$/],
  [{ WEBHOOK_SECRET: "hunter2" }, /^[^\n]*not base64[^\n]*\n$/],
  [{ WEBHOOK_SECRET: "hunter22" }, /^[^\n]*too short[^\n]*openssl rand -base64 32[^\n]*\n$/],
  [{ WEBHOOK_SECRET: "whsec_!!" }, /^[^\n]*secret[^\n]*\n$/i],
  [{ PORT: "80000" }, /^PORT is "80000"\..*\n$/],
  [{ MAIL_ADDRESS: "assistant@example.com" }, /^MAIL_ADDRESS is .*at most 8 characters.*\n$/],
  [{ SMTP_URL: "mail.example.com" }, /^SMTP_URL is not a URL .*\n$/],
  [{ APPROVAL_TIMEOUT: "soon" }, /^APPROVAL_TIMEOUT is "soon"\..*\n$/],
  [{ LLM_PROVIDER: "opnai" }, /^LLM_PROVIDER is "opnai"\..*\n$/],
  [{ DEMO_PACE: "fast" }, /^DEMO_PACE is "fast"\..*\n$/],
];

// Each is a process: one of them here, all in `npm run test:full`.
test.each(inject("full") ? wrong : wrong.slice(0, 1))("%o is one line and exit code 1", async (env, line) => {
  const { code, out, err }: Ended = await new ServerProcess(place(), env).ended;
  expect(err).toMatch(line);
  expect({ code, out }).toEqual({ code: 1, out: "" });
});

test("a port that is taken is one line and exit code 1", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const { code, err } = await new ServerProcess(place(), { PORT: String(port) }).ended;
  other.close();
  expect(code).toBe(1);
  expect(err).toMatch(/^[^\n]*EADDRINUSE[^\n]*Set PORT to another one\.\n$/);
});
