import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { base32, digest, hmac, joinParts, sha256 } from "../../src/values/hash.ts";
import { Chance } from "../support/codec-values.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const base32Of = (text: string, length = 99): string => base32(new TextEncoder().encode(text), length);
const reference = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");

describe("sha256", () => {
  it("agrees with node:crypto on every length from 0 to 200, so on every edge of a block", () => {
    const chance = new Chance(1);
    for (let length = 0; length <= 200; length++) {
      const data = chance.bytes(length);
      expect(hex(sha256(data)), `${length} bytes`).toBe(reference(data));
    }
  });

  it("agrees on all zeros, all ones, random lengths and one MiB", () => {
    const chance = new Chance(2);
    for (const length of [55, 56, 63, 64, 65, 119, 120, 127, 128]) {
      expect(hex(sha256(new Uint8Array(length)))).toBe(reference(new Uint8Array(length)));
      const ones = new Uint8Array(length).fill(255);
      expect(hex(sha256(ones))).toBe(reference(ones));
    }
    for (let i = 0; i < 200; i++) {
      const data = chance.bytes(chance.below(5_000));
      expect(hex(sha256(data))).toBe(reference(data));
    }
    const large = chance.bytes(2 ** 20);
    expect(hex(sha256(large))).toBe(reference(large));
  });

  it("takes text as UTF-8, and a view by its own bytes", () => {
    expect(hex(sha256(""))).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(hex(sha256("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(hex(sha256("žluťoučký 𝄞"))).toBe(reference("žluťoučký 𝄞"));
    const whole = new Chance(3).bytes(100);
    expect(hex(sha256(whole.subarray(10, 50)))).toBe(reference(whole.slice(10, 50)));
  });

  it("leaves its argument and earlier results alone", () => {
    const data = Uint8Array.of(1, 2, 3);
    const first = sha256(data);
    const kept = hex(first);
    sha256("another");
    expect([...data]).toEqual([1, 2, 3]);
    expect(hex(first)).toBe(kept);
  });
});

describe("hmac", () => {
  it("agrees with node:crypto for secrets below, at and above one block", () => {
    const chance = new Chance(4);
    const text = (length: number): string =>
      Array.from({ length }, () => String.fromCharCode(33 + chance.below(90))).join("");
    for (const length of [1, 2, 31, 32, 63, 64, 65, 127, 128, 129, 300]) {
      for (const size of [0, 1, 55, 56, 64, 1_000]) {
        const secret = text(length);
        const message = text(size);
        const expected = createHmac("sha256", secret).update(message).digest("hex");
        expect(hex(hmac(secret, message)), `${length}, ${size}`).toBe(expected);
      }
    }
    const expected = createHmac("sha256", "ключ").update("𝄞").digest("hex");
    expect(hex(hmac("ключ", "𝄞"))).toBe(expected);
  });
});

describe("base32", () => {
  it("is RFC 4648 in lower case without padding", () => {
    expect(base32Of("fooba")).toBe("mzxw6ytb");
    expect(base32Of("foobar", 9)).toBe("mzxw6ytbo");
    expect(base32Of("")).toBe("");
  });

  it("gives exactly the asked length, and no more than the bits allow", () => {
    const bytes = new Chance(5).bytes(32);
    const all = base32(bytes, 1_000);
    expect(all).toHaveLength(51);
    expect(all).toMatch(/^[a-z2-7]+$/);
    for (let length = 0; length <= 51; length++) expect(base32(bytes, length)).toBe(all.slice(0, length));
  });

  it("uses every bit it says: flipping any of the first 130 changes 26 characters of text", () => {
    const bytes = new Chance(6).bytes(32);
    const before = base32(bytes, 26);
    for (let bit = 0; bit < 130; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (128 >> (bit & 7));
      expect(base32(flipped, 26)).not.toBe(before);
    }
  });
});

describe("joinParts and digest", () => {
  it("give no two lists of parts the same text", () => {
    const alphabet = ["", "1", ":", "1:", "11", "a", "0:", "2:1:", "1:a"];
    const seen = new Map<string, string>();
    const visit = (parts: readonly string[]): void => {
      const text = joinParts(parts);
      expect(seen.get(text), `parts ${text}`).toBeUndefined();
      seen.set(text, JSON.stringify(parts));
      if (parts.length < 4) for (const part of alphabet) visit([...parts, part]);
    };
    visit([]);
    expect(seen.size).toBe(1 + 9 + 81 + 729 + 6_561);
  });

  it("a digest has its length, depends on every part and never on time", () => {
    expect(digest(18, "run", "r-1")).toHaveLength(18);
    expect(digest(18, "run", "r-1")).toBe(digest(18, "run", "r-1"));
    const others = [digest(18, "wait", "r-1"), digest(18, "run", "r-2"), digest(18, "run", "r-1", 1)];
    expect(new Set([digest(18, "run", "r-1"), ...others]).size).toBe(4);
    // Pinned: run ids and tokens of recorded runs rest on it.
    expect(digest(18, "run", "r-1")).toBe(base32(createHash("sha256").update("3:run3:r-1").digest(), 18));
  });
});
