import { describe, expect, it } from "vitest";
import { locatorOf, waitOf } from "../../src/journal/keys.ts";
import { keyring, type Secret } from "../../src/journal/tokens.ts";
import { Chance } from "../support/codec-values.ts";
import { codeOf, messageOf } from "../support/codec-failure.ts";

const secret = "correct horse battery staple";
const ring = keyring(secret);
const place = (i: number): { locator: string; wait: string } => ({
  locator: locatorOf(`run-${i}`),
  wait: waitOf(`approve#${i}`, "n"),
});
const tokenOf = (i: number, from = ring): string => from.sign(place(i).locator, place(i).wait);
const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

describe("a resume token", () => {
  it("has 55 lower-case base32 characters and fits an e-mail local part", () => {
    for (let i = 0; i < 100; i++) {
      expect(tokenOf(i)).toMatch(/^[a-z2-7]{55}$/);
      expect(new TextEncoder().encode(`reply+${tokenOf(i)}`).length).toBeLessThanOrEqual(64);
    }
  });

  it("gives its place back, also in upper or mixed case and between spaces", () => {
    for (let i = 0; i < 50; i++) {
      const token = tokenOf(i);
      const mixed = token
        .split("")
        .map((c, at) => (at % 2 === 0 ? c.toUpperCase() : c))
        .join("");
      for (const form of [token, token.toUpperCase(), mixed, ` ${token}\n`, `\t${token}`])
        expect(ring.verify(form)).toEqual(place(i));
    }
  });

  it("is the same each time, and another for each run and wait", () => {
    expect(tokenOf(1)).toBe(keyring(secret).sign(place(1).locator, place(1).wait));
    expect(new Set(Array.from({ length: 500 }, (_, i) => tokenOf(i))).size).toBe(500);
  });
});

describe("H62 forgery", () => {
  it("every substitution of one character, in every position, gives null", () => {
    for (let i = 0; i < 4; i++) {
      const token = tokenOf(i);
      for (let at = 0; at < 55; at++) {
        for (const other of alphabet) {
          if (other === token[at]) continue;
          expect(ring.verify(token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
        }
      }
    }
  });

  it("every flip of one bit gives null, but for the bit that is a letter's case", () => {
    for (let i = 0; i < 20; i++) {
      const token = tokenOf(i);
      for (let at = 0; at < 55; at++) {
        for (let bit = 1; bit <= 0x8000; bit <<= 1) {
          const flipped = String.fromCharCode(token.charCodeAt(at) ^ bit);
          if (flipped.toLowerCase() === token[at] && flipped.charCodeAt(0) < 128) continue;
          expect(ring.verify(token.slice(0, at) + flipped + token.slice(at + 1))).toBeNull();
        }
      }
    }
  });

  it("no character of any script stands for one of ours", () => {
    // Lower-casing turns the Kelvin sign into a k, for one.
    const token = Array.from({ length: 200 }, (_, i) => tokenOf(i)).find((t) => t.includes("k")) ?? "";
    const at = token.indexOf("k");
    const accepted: string[] = [];
    for (let code = 0; code < 0x10000; code++) {
      const other = String.fromCharCode(code);
      if (ring.verify(token.slice(0, at) + other + token.slice(at + 1)) !== null) accepted.push(other);
    }
    expect(accepted).toEqual(["K", "k"]);
  });

  it("truncation, extension, doubling and swapped parts give null", () => {
    const token = tokenOf(1);
    const other = tokenOf(2);
    for (let length = 0; length < 55; length++) {
      expect(ring.verify(token.slice(0, length))).toBeNull();
      expect(ring.verify(token.slice(55 - length))).toBeNull();
    }
    for (const extra of ["a", "=", "2", token, "\u0000", ".", "%20"]) {
      expect(ring.verify(token + extra)).toBeNull();
      expect(ring.verify(extra + token)).toBeNull();
    }
    const swapped = [
      token.slice(0, 19) + other.slice(19),
      token.slice(0, 29) + other.slice(29),
      other.slice(0, 19) + token.slice(19),
      token[0] + other.slice(1, 19) + token.slice(19),
      token.split("").toReversed().join(""),
    ];
    for (const forged of swapped) expect(ring.verify(forged)).toBeNull();
  });

  it("another secret, another key id and a retired key give null", () => {
    const token = tokenOf(1);
    expect(keyring(`${secret} `).verify(token)).toBeNull();
    expect(keyring("x").verify(token)).toBeNull();
    expect(keyring({ current: "b", keys: { b: secret } }).verify(token)).toBeNull();
    expect(keyring({ current: "b", keys: { b: secret, a: "another" } }).verify(token)).toBeNull();
    // The same secret under two ids: the id is signed too.
    const twice = keyring({ current: "a", keys: { a: secret, b: secret } });
    expect(twice.verify(token)).toEqual(place(1));
    expect(twice.verify(`b${token.slice(1)}`)).toBeNull();
  });

  it("random texts of the right shape give null", () => {
    const chance = new Chance(7);
    for (let i = 0; i < 2_000; i++) {
      const text = Array.from({ length: 54 }, () => alphabet.charAt(chance.below(32))).join("");
      expect(ring.verify(`a${text}`)).toBeNull();
    }
  });

  it("what is no text gives null", () => {
    for (const value of [
      undefined,
      null,
      5,
      5n,
      {},
      [tokenOf(1)],
      { toString: () => tokenOf(1) },
      Symbol("t"),
    ])
      expect(ring.verify(value as string)).toBeNull();
  });
});

describe("rotation", () => {
  const old = keyring(secret);
  const both = keyring({ current: "b", keys: { a: secret, b: "the next one" } });
  const after = keyring({ current: "b", keys: { b: "the next one" } });

  it("keeps tokens of the old secret valid while it is listed, and signs with the current one", () => {
    for (let i = 0; i < 20; i++) {
      expect(both.verify(tokenOf(i, old))).toEqual(place(i));
      expect(tokenOf(i, both)[0]).toBe("b");
      expect(both.verify(tokenOf(i, both))).toEqual(place(i));
      expect(after.verify(tokenOf(i, both))).toEqual(place(i));
      expect(after.verify(tokenOf(i, old))).toBeNull();
      expect(old.verify(tokenOf(i, both))).toBeNull();
    }
  });

  it("takes every id of the alphabet", () => {
    for (const id of alphabet) {
      const one = keyring({ current: id, keys: { [id]: secret } });
      expect(one.verify(tokenOf(3, one))).toEqual(place(3));
    }
  });
});

describe("bad secrets", () => {
  const bad: unknown[] = [
    "",
    null,
    5,
    5n,
    true,
    [],
    {},
    { current: "a" },
    { current: "a", keys: null },
    { current: "a", keys: {} },
    { current: "b", keys: { a: secret } },
    { current: "", keys: { "": secret } },
    { current: "ab", keys: { ab: secret } },
    { current: "A", keys: { A: secret } },
    { current: "1", keys: { 1: secret } },
    { current: "a", keys: { a: "" } },
    { current: "a", keys: { a: 5 } },
    { current: "a", keys: { a: secret, b: undefined } },
    { keys: { a: secret } },
    { current: "toString", keys: {} },
  ];

  it("are `invalid-options`, and the message shows no secret", () => {
    for (const [i, value] of bad.entries()) {
      expect(
        codeOf(() => keyring(value as Secret)),
        `bad secret ${i}`,
      ).toBe("invalid-options");
      expect(messageOf(() => keyring(value as Secret))).not.toContain(secret);
    }
  });
});
