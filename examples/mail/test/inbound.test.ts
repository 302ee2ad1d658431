import { seeded } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { emailSchema, type Email } from "../src/email.ts";
import { sourcesIn } from "../src/inbound.ts";
import { mangled, manglings } from "../src/gateway.ts";

const token = "a7q2".repeat(13) + "xyz";
const other = "b3c4".repeat(13) + "klm";

function email(given: Record<string, unknown>): Email {
  return emailSchema.parse({
    from: "ada@example.com",
    to: "deploy@localhost",
    subject: "Re: x",
    body: "approve",
    messageId: "<1@x>",
    ...given,
  });
}

/** What would be tried, in order. */
function tried(given: Record<string, unknown>): string[] {
  return sourcesIn(email(given), "deploy").flatMap(({ candidates }) =>
    candidates.map((candidate) => candidate.toLowerCase()),
  );
}

describe("the address", () => {
  test.each([
    `deploy+${token}@localhost`,
    `DEPLOY+${token.toUpperCase()}@LOCALHOST`,
    `Deploy assistant <deploy+${token}@mail.example.com>`,
    `"Doe, Ada" <ada@example.com>, "x" <deploy+${token}@localhost>`,
    `"deploy+${token}"@localhost`,
    `<prvs=1234=deploy+${token}@localhost>`,
    ["ada@example.com", `deploy+${token}@localhost`],
    `someone-else+${token}@localhost`,
  ])("%s", (to) => {
    expect(tried({ to })).toEqual([token]);
  });

  test("without a tag is not a reply, nor is a tag of another mailbox", () => {
    for (const to of ["deploy@localhost", "Deploy <deploy@x>", "deploy@x, bob+lists@example.com"])
      expect(sourcesIn(email({ to }), "deploy"), to).toEqual([]);
  });

  test("with an invalid token in its tag is a bad reply, and starts nothing", () => {
    for (const tag of ["x", "prod", token.slice(1), `${token}a`, ""])
      expect(tried({ to: `deploy+${tag}@localhost` }), tag).toEqual([tag]);
    expect(tried({ to: `reply+${"z9".repeat(20)}@localhost` })).toHaveLength(1);
  });
});

test("the thread headers, the nearest mail first", () => {
  const ids = (...tokens: string[]): string => tokens.map((one) => `<k234.${one}@localhost>`).join(" ");
  expect(tried({ inReplyTo: ids(token) })).toEqual([token]);
  expect(tried({ references: `<1@x> ${ids(other, token)}` })).toEqual([token, other]);
  expect(tried({ references: ["<1@x>", ids(other), ids(token.toUpperCase())] })).toEqual([token, other]);
  expect(tried({ inReplyTo: ids(other), references: ids(other, token) })).toEqual([other, token]);
  expect(tried({ inReplyTo: "<CAF=abc@mail.example.com>", references: null })).toEqual([]);
});

describe("H33 the footer survives what gateways do to a text", () => {
  const original = `Hello Ada,\n\nI would put 1.1.0 on staging.\n\n-- \n[reply-token: ${token}]\n`;

  test.each(Object.entries(manglings))("%s", (_name, mangle) => {
    const body = `approve\n\nOn Sunday somebody wrote:\n${mangle(original, seeded(3))}`;
    expect(tried({ body })).toEqual([token]);
  });

  test("any three of these, one after the other, on 2,000 seeds", () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      const { text, names } = mangled(original, seeded(seed), 3);
      expect(tried({ body: `approve\n\n${text}` }), `seed ${seed}: ${names.join(", ")}`).toEqual([token]);
    }
  });

  test("quoted twice in one thread: both are tried, as they stand", () => {
    const body = `no\n> [reply-token: ${token}]\n> > [reply-token: ${other}]\n> [reply-token: ${token}]`;
    expect(tried({ body })).toEqual([token, other]);
  });

  test("a footer that lost a part is a bad reply; words are no footer", () => {
    expect(tried({ body: `[reply-token: ${token.slice(0, 20)}]` })).toEqual([token.slice(0, 20)]);
    for (const body of ["reply-token: please deploy the latest release to staging as soon as you can", ""])
      expect(sourcesIn(email({ body }), "deploy"), body).toEqual([]);
  });
});

test("the address comes before the thread, and the thread before the text", () => {
  const third = "c".repeat(55);
  const found = sourcesIn(
    email({
      to: `deploy+${token}@localhost`,
      inReplyTo: `<k.${other}@localhost>`,
      body: `[reply-token: ${third}]`,
    }),
    "deploy",
  );
  expect(found.map(({ place, candidates }) => [place, ...candidates])).toEqual([
    ["address", token],
    ["thread", other],
    ["footer", third],
  ]);
});

test("a text made to be slow is not, and gives few candidates", () => {
  const long = 1_000_000;
  const bodies = [
    "<a".repeat(long / 2),
    "&#91;".repeat(long / 5),
    "[reply-token:".repeat(long / 18),
    "=\n".repeat(long / 2),
    Array.from({ length: 10_000 }, (_, at) => `[reply-token: ${at}]`).join("\n"),
  ];
  for (const body of bodies)
    for (const { candidates } of sourcesIn(email({ body }), "deploy"))
      expect(candidates.length).toBeLessThanOrEqual(20);
  for (const to of ["a+".repeat(9_000) + "@x", "a".repeat(19_000) + "@x", "+".repeat(19_000) + "@x"])
    expect(tried({ to }).length).toBeLessThanOrEqual(20);
});
