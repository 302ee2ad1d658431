/** Codes and statuses: the table of the documentation, and what a response may contain. */

import { readFileSync } from "node:fs";
import { DurableError, type ErrorCode } from "@durable/core";
import { errorResponse, HttpError } from "@durable/http";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
const table = [...page.matchAll(/^\| \[`([a-z-]+)`\].*\| (\d{3}) \| \d+ \|$/gm)].map(
  ([, code, status]) => [code as ErrorCode, Number(status)] as const,
);

test("R1 every code of the library has the status of the table of errors", async () => {
  expect(table.length).toBeGreaterThan(30);
  for (const [code, status] of table) {
    const response = errorResponse(new DurableError(code, "said to the client"), () => {});
    expect([code, response.status]).toEqual([code, status]);
    expect(await response.json()).toMatchObject({ error: { code } });
  }
});

test("R2 a server error is answered with its code alone, and passed to onError", async () => {
  for (const [code, status] of table) {
    const heard: unknown[] = [];
    const error = new DurableError(code, "/srv/private/journal.db", { details: { token: "t" } });
    const text = await errorResponse(error, (one) => heard.push(one)).text();
    expect([code, text.includes("private"), heard.length]).toEqual([
      code,
      status < 500,
      status < 500 ? 0 : 1,
    ]);
    expect(text).not.toContain('"t"');
  }
});

test("anything else that is thrown is 500, whatever it is", async () => {
  for (const thrown of [new Error("secret"), "secret", null, undefined, { message: "secret" }, 7]) {
    const heard: unknown[] = [];
    const response = errorResponse(thrown, (one) => heard.push(one));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(heard).toEqual([thrown]);
  }
});

test("R3 every answer is JSON that no browser takes for a page and no cache keeps", () => {
  const response = errorResponse(new HttpError("no-route", "<script>"));
  expect(Object.fromEntries(response.headers)).toEqual({
    "cache-control": "no-store",
    "content-type": "application/json",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
});

test("the cause of a refusal is not sent", async () => {
  const cause = new Error("the reason");
  const text = await errorResponse(new HttpError("bad-signature", "No.", { cause })).text();
  expect(text).toBe('{"error":{"code":"bad-signature","message":"No."}}');
});
