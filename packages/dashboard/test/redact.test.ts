import { expect, test } from "vitest";
import { redact, redactText } from "../src/export/redact.ts";

test("hides what looks private, by name and by shape", () => {
  const value = {
    user: { email: "ada@example.org", password: "hunter2", apiKey: "abc", name: "Ada" },
    headers: { Authorization: "Bearer abcdefghijkl", "set-cookie": "a=b", accept: "text/html" },
    text: "write to grace.hopper+x@mail.example.com with sk-proj-abcdefghijklmnop1234 please",
    db_password: 42,
    refreshToken: null,
    list: ["postgres://me:secret@db/x", { access_key: ["x"] }],
    jwt: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    card: "4111 1111 1111 1111",
  };
  expect(redact(value)).toEqual({
    user: { email: "[redacted]", password: "[redacted]", apiKey: "[redacted]", name: "Ada" },
    headers: { Authorization: "[redacted]", "set-cookie": "[redacted]", accept: "text/html" },
    text: "write to [redacted] with [redacted] please",
    db_password: "[redacted]",
    refreshToken: null,
    list: ["postgres://[redacted]@db/x", { access_key: "[redacted]" }],
    jwt: "[redacted]",
    card: "[redacted]",
  });
});

test("keeps what only sounds alike", () => {
  const value = {
    inputTokens: 12,
    max_tokens: 5,
    tokens: 3,
    author: "Ada",
    at: 1_794_832_536_497,
    note: "14 Mill Lane",
    pinned: true,
    cards: 2,
  };
  expect(redact(value)).toEqual(value);
});

test("hides further names, and resume tokens", () => {
  expect(redact({ Applicant: "4711", amount: 1 }, ["applicant"])).toEqual({
    Applicant: "[redacted]",
    amount: 1,
  });
  expect(redactText(`token ${"a2".repeat(27)}b.`)).toBe("token [redacted].");
});

test.each([
  ["Groq", "gsk_abcdefghijklmnop1234"],
  ["Hugging Face", "hf_abcdefghijklmnopqrst"],
  ["xAI", "xai-abcdefghijklmnopqrst"],
  ["Perplexity", "pplx-abcdefghijklmnopqrst"],
  ["Replicate", "r8_abcdefghijklmnopqrst"],
  ["AWS, beside its name", "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab"],
  ["a password in a text", 'the password: hunter22, and "pwd"= "abcd"'],
])("hides a key of %s", (_, text) => {
  const hidden = redactText(`see ${text} there`);
  expect(hidden).toContain("[redacted]");
  for (const part of ["abcdefghij", "wJalr", "hunter22"]) expect(hidden).not.toContain(part);
});

test.each([
  "pwd",
  "secrets",
  "api_keys",
  "apiKeys",
  "connectionString",
  "signingKey",
  "db_pwd",
  "DSN",
  "dbConnectionString",
])("hides what stands under %s", (name) => {
  expect(redact({ [name]: "x" })).toEqual({ [name]: "[redacted]" });
});

test.each([
  ["tokens that never end", "eyJ-"],
  ["addresses that never end", "a.b@c."],
  ["bearers", "bearer  "],
  ["keys", "sk-"],
  ["pages with a password", "a://b:"],
  ["private keys", "-----BEGIN PRIVATE KEY"],
  ["passwords", "password: "],
  ["names of AWS", "aws = "],
  ["digits", "1 "],
  ["tokens with dots", "eyJaaaaaaaa."],
  ["tokens inside of words", "aeyJaaaaaaaaaaaaaaaa.aaaaaaaaa"],
  ["addresses without an end", "a@"],
  ["one long word", "A"],
  ["names of AWS with signs", "aws:="],
  ["kinds of private keys", "-----BEGIN RSA "],
  ["spaces behind a name", "secret "],
  ["pages without a password", "ab+c://"],
  ["keys of chats", "xoxb-a"],
])("hostile text takes linear time: %s", (_, part) => {
  const cpu = (length: number): number => {
    const text = part.repeat(length / part.length);
    const before = process.cpuUsage();
    redactText(text);
    redact({ [`_pass${text}\n`]: text });
    const { user, system } = process.cpuUsage(before);
    return user + system + 2_000;
  };
  cpu(20_000);
  const [short, middle, long] = [80_000, 160_000, 320_000].map((length) =>
    Math.min(...[1, 2, 3].map(() => cpu(length))),
  ) as [number, number, number];
  // Quadratic time would be 16 times as long.
  expect(long / short, "four times the text").toBeLessThan(10);
  expect(middle / short, "twice the text").toBeLessThan(5);
});
