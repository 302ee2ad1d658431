import { afterEach, describe, expect, inject, it, test, vi } from "vitest";
import { aesGcm } from "@durable/core/encryption";
import type { Cipher, Place } from "../../../src/ports/cipher.ts";
import { DurableError } from "../../../src/values/errors.ts";
import { Chance } from "../../support/codec-values.ts";
import { codeOf, failureOf } from "../../support/codec-failure.ts";

const k1 = crypto.getRandomValues(new Uint8Array(32));
const k2 = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
const cipher = aesGcm({ current: "k1", keys: { k1 } });
const place: Place = { runId: "r-17", at: "4/draft/value" };
const secretText = '{"card":"4711 4711 4711 4711"}';

/** The code an opening fails with; "opened" when it does not. */
async function verdict(given: Cipher, sealed: unknown, at: Place = place): Promise<unknown> {
  try {
    await given.open(sealed as string, at);
    return "opened";
  } catch (error) {
    return DurableError.is(error) ? error.code : error;
  }
}

async function failure(opening: Promise<unknown>): Promise<DurableError> {
  return opening.then(
    () => Promise.reject(new Error("it opened")),
    (error: DurableError) => error,
  );
}

afterEach(() => vi.restoreAllMocks());

describe("what was sealed comes back exactly", () => {
  it.each<[string, string]>([
    ["an empty text", ""],
    ["JSON", secretText],
    ["many scripts", "žluťoučký 計 𝄞 é e\u0301 \u0000\u2028"],
    ["a byte order mark, first and alone", "\ufeff"],
    ["a byte order mark before a text", "\ufeffabc"],
    ["a high half of a surrogate pair", "a\ud800"],
    ["a low half", "\udc00b"],
    ["halves in the wrong order, quotes, a backslash", '"\udfff\ud800\\u0041"'],
    ["what reads like its own JSON", '"\\ud800"'],
    ["the character that stands for what cannot be decoded", "\ufffd"],
  ])("%s", async (_, text) => {
    expect(await cipher.open(await cipher.seal(text, place), place)).toBe(text);
  });

  test("thousands of random texts", async () => {
    const wrong: string[] = [];
    const chance = new Chance(5);
    for (let i = 0; i < (inject("full") ? 2_000 : 400); i++) {
      const units = Array.from({ length: chance.below(40) }, () => chance.below(0x1_0000));
      const text = String.fromCharCode(...units);
      if ((await cipher.open(await cipher.seal(text, place), place)) !== text) wrong.push(text);
    }
    expect(wrong).toEqual([]);
  });

  test("H71 32 MiB, in characters of one byte and of three", async () => {
    // An eighth of it in `npm test`: the way is the same for all texts of more than some KiB.
    const size = inject("full") ? 2 ** 25 : 2 ** 22;
    for (const text of ["x".repeat(size), "計".repeat(size / 3)]) {
      const sealed = await cipher.seal(text, place);
      expect(sealed.length).toBeLessThan(size * 1.4);
      expect((await cipher.open(sealed, place)) === text).toBe(true);
    }
  });

  test("one short text of ASCII, different each time, with nothing in it of what was sealed", async () => {
    const texts = await Promise.all(Array.from({ length: 100 }, () => cipher.seal(secretText, place)));
    expect(new Set(texts).size).toBe(100);
    for (const text of texts) {
      expect(text).toMatch(/^1\.k1\.[\w-]+$/);
      expect(text).not.toContain(Buffer.from(secretText).toString("base64url").slice(0, 12));
      // 12 bytes of nonce and 16 of tag, a third more for base64.
      expect(text.length).toBe("1.k1.".length + Math.ceil(((secretText.length + 28) * 4) / 3));
    }
  });

  test("where the runtime has no base64 of its own, the texts are the same", async () => {
    const sealed = await cipher.seal(secretText, place);
    const [to, from] = [Reflect.get(Uint8Array.prototype, "toBase64"), Reflect.get(Uint8Array, "fromBase64")];
    Reflect.set(Uint8Array.prototype, "toBase64", undefined);
    Reflect.set(Uint8Array, "fromBase64", undefined);
    try {
      expect(await cipher.open(sealed, place)).toBe(secretText);
      expect(await verdict(cipher, `${sealed}=`)).toBe("tampered");
      expect(await verdict(cipher, sealed.replace(/.$/, " "))).toBe("tampered");
      const other = await cipher.seal("žluťoučký", place);
      Reflect.set(Uint8Array.prototype, "toBase64", to);
      Reflect.set(Uint8Array, "fromBase64", from);
      expect(await cipher.open(other, place)).toBe("žluťoučký");
    } finally {
      Reflect.set(Uint8Array.prototype, "toBase64", to);
      Reflect.set(Uint8Array, "fromBase64", from);
    }
  });
});

describe("H68 a sealed text opens at its place, whole, and with its key alone", () => {
  test("two texts of one run that changed places", async () => {
    const other = { ...place, at: "5/draft/value" };
    const [a, b] = [await cipher.seal("a", place), await cipher.seal("b", other)];
    expect([await verdict(cipher, b, place), await verdict(cipher, a, other)]).toEqual([
      "tampered",
      "tampered",
    ]);
  });

  it.each<[string, Place]>([
    ["another run", { ...place, runId: "r-18" }],
    ["no run", { ...place, runId: "" }],
    ["another position", { ...place, at: "5/draft/value" }],
    ["another field", { ...place, at: "4/draft/error" }],
    ["a run that ends with the place", { runId: "r-174", at: "/draft/value" }],
    ["a place that begins with the run", { runId: "", at: "r-174/draft/value" }],
  ])("one that was moved: %s", async (_, to) => {
    expect(await verdict(cipher, await cipher.seal(secretText, place), to)).toBe("tampered");
  });

  test("every cut, at both ends", async () => {
    const sealed = await cipher.seal(secretText, place);
    for (let i = 1; i <= sealed.length; i++) {
      expect(await verdict(cipher, sealed.slice(0, -i)), `${i} cut off its end`).toBe("tampered");
      expect(await verdict(cipher, sealed.slice(i)), `${i} cut off its beginning`).toBe("tampered");
    }
  });

  test("every bit of every character, header included", async () => {
    const sealed = await cipher.seal("4711", place);
    const seen = new Set<unknown>();
    for (let i = 0; i < sealed.length; i++) {
      for (let bit = 0; bit < 16; bit++) {
        const flipped = String.fromCharCode(sealed.charCodeAt(i) ^ (1 << bit));
        const found = await verdict(cipher, sealed.slice(0, i) + flipped + sealed.slice(i + 1));
        // In the key id a flipped bit may give another id, which nobody has.
        const inKeyId = i === 2 || i === 3;
        expect(inKeyId ? ["no-key", "tampered"] : ["tampered"], `bit ${bit} of ${i}`).toContain(found);
        seen.add(found);
      }
    }
    expect(seen).toEqual(new Set(["no-key", "tampered"]));
  });

  it.each<[string, (sealed: string) => unknown]>([
    ["nothing", () => ""],
    ["what was never sealed", () => secretText],
    ["no text", () => undefined],
    ["a number", () => 5],
    ["null", () => null],
    ["an object", () => ({ toString: () => "1.k1.AAAA" })],
    ["dots", () => ".".repeat(1_000_000)],
    ["a part more", (sealed) => `${sealed}.x`],
    ["an empty part more", (sealed) => `${sealed}.`],
    ["blanks inside", (sealed) => `${sealed.slice(0, 20)}\n${sealed.slice(20)}`],
    ["a blank at the end", (sealed) => `${sealed} `],
    ["padding", (sealed) => `${sealed}==`],
    ["another alphabet", (sealed) => sealed.replaceAll("-", "+").replaceAll("_", "/").replace(/\w$/, "+")],
    ["a later format", (sealed) => sealed.replace(/^1/, "2")],
    ["the other format", (sealed) => sealed.replace(/^1/, "1j")],
    ["a key id that is none", (sealed) => sealed.replace("k1", "k 1")],
    ["an empty key id", (sealed) => sealed.replace("k1", "")],
    ["a nonce and no tag", (sealed) => sealed.slice(0, "1.k1.".length + 16)],
    ["two of them", (sealed) => sealed + sealed],
  ])("garbage: %s", async (_, make) => {
    expect(await verdict(cipher, make(await cipher.seal(secretText, place)))).toBe("tampered");
  });

  test("an unknown key id is told, and that is all", async () => {
    const other = aesGcm({ current: "2027-01", keys: { "2027-01": k2 } });
    const error = await failure(cipher.open(await other.seal(secretText, place), place));
    expect(error).toMatchObject({ code: "no-key", details: { keyId: "2027-01", ...place } });
    expect(error.message).toMatch(/r-17.*4\/draft\/value.*"2027-01"/);
    expect(JSON.stringify([error.message, error.stack, error.details])).not.toContain("4711");
  });

  test("names of Object.prototype are no key ids", async () => {
    const sealed = await cipher.seal("x", place);
    for (const id of ["constructor", "__proto__", "toString"])
      expect(await verdict(cipher, sealed.replace("k1", id))).toBe("no-key");
  });

  test("another key under the same id", async () => {
    const wrong = aesGcm({ current: "k1", keys: { k1: k2 } });
    const error = await failure(wrong.open(await cipher.seal(secretText, place), place));
    expect(error).toMatchObject({ code: "tampered", details: { keyId: "k1", ...place } });
    expect(error.message).toMatch(/r-17.*4\/draft\/value/);
  });

  test("the same key under another id", async () => {
    const both = aesGcm({ current: "k1", keys: { k1, k3: k1 } });
    expect(await verdict(both, (await both.seal("x", place)).replace("k1", "k3"))).toBe("tampered");
  });

  test("a blob is named in the message", async () => {
    const blob = { runId: "", at: "abcd" };
    const error = await failure(cipher.open(await cipher.seal("x", place), blob));
    expect(error.message).toMatch(/^Blob abcd cannot be decrypted with key "k1"/);
  });

  test("plain text is never taken for a sealed one, whatever the journal may accept", async () => {
    const lenient = aesGcm({ current: "k1", keys: { k1 }, acceptPlain: true });
    expect([cipher.acceptsPlain, lenient.acceptsPlain]).toEqual([false, true]);
    expect(await verdict(lenient, secretText)).toBe("tampered");
  });
});

describe("rotation", () => {
  const rotated = aesGcm({ current: "k2", keys: { k1, k2 } });

  test("the new key seals, both open", async () => {
    const [before, after] = [await cipher.seal("a", place), await rotated.seal("b", place)];
    expect(after).toMatch(/^1\.k2\./);
    expect([await rotated.open(before, place), await rotated.open(after, place)]).toEqual(["a", "b"]);
    expect(await verdict(cipher, after)).toBe("no-key");
  });

  test("H68 a key that was taken out opens nothing any more", async () => {
    const later = aesGcm({ current: "k2", keys: { k2 } });
    expect(await verdict(later, await cipher.seal("a", place))).toBe("no-key");
  });

  test("names of content are the current key's", () => {
    expect(rotated.nameOf("x")).not.toBe(cipher.nameOf("x"));
    expect(rotated.nameOf("x")).toBe(aesGcm({ current: "other", keys: { other: k2 } }).nameOf("x"));
  });
});

describe("names", () => {
  test("equal content has an equal name of 32 characters, other content another", () => {
    const texts = ["", "x", "x ", '"x"', "\ud800", "\udc00", "\ufffd", '"\\ud800"', 'j"\\ud800"', "1x"];
    const names = texts.map((text) => cipher.nameOf(text));
    expect(new Set(names).size).toBe(texts.length);
    expect(names).toEqual(texts.map((text) => aesGcm({ current: "k1", keys: { k1 } }).nameOf(text)));
    for (const name of names) expect(name).toMatch(/^[a-z2-7]{32}$/);
  });
});

describe("keys of runs", () => {
  test("are imported once a run, the latest thousand kept", async () => {
    const fresh = aesGcm({ current: "k1", keys: { k1 } });
    const imports = vi.spyOn(crypto.subtle, "importKey");
    const seal = (n: number): Promise<string> => fresh.seal("x", { runId: `r-${n}`, at: "" });
    await Promise.all([seal(0), seal(0), seal(0)]);
    expect(imports).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 1_000; n++) await seal(n);
    await seal(0);
    expect(imports).toHaveBeenCalledTimes(1_000);
    // The least recently used one goes: 1, since 0 was used again.
    await seal(1_000);
    await seal(0);
    expect(imports).toHaveBeenCalledTimes(1_001);
    await seal(1);
    expect(imports).toHaveBeenCalledTimes(1_002);
  });

  test("cannot be taken out of the process' memory by script", async () => {
    const imports = vi.spyOn(crypto.subtle, "importKey");
    await aesGcm({ current: "k1", keys: { k1 } }).seal("x", place);
    expect(await imports.mock.results[0]?.value).toMatchObject({ extractable: false });
  });

  test("bytes that change after the cipher was made change no key", async () => {
    const bytes = k1.slice();
    const own = aesGcm({ current: "k1", keys: { k1: bytes } });
    bytes.fill(0);
    expect(await cipher.open(await own.seal("x", place), place)).toBe("x");
  });
});

describe("options", () => {
  const base64 = Buffer.from(k1).toString("base64");

  it.each<[string, Uint8Array | string]>([
    ["bytes", k1],
    ["a Buffer", Buffer.from(k1)],
    ["base64", base64],
    ["base64 with the newline of a file", `${base64}\n`],
    ["base64 without padding", base64.slice(0, 43)],
    ["base64url", Buffer.from(k1).toString("base64url")],
  ])("a key as %s", async (_, key) => {
    const same = aesGcm({ current: "k1", keys: { k1: key } });
    expect(await cipher.open(await same.seal("x", place), place)).toBe("x");
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["no keys", { current: "k1" }],
    ["an empty list of keys", { current: "k1", keys: {} }],
    ["no current", { keys: { k1 } }],
    ["a current that is none of them", { current: "k9", keys: { k1 } }],
    ["a current that is the key itself", { current: base64, keys: { k1 } }],
    ["a current of Object.prototype", { current: "constructor", keys: { k1 } }],
    ["a current that is no text", { current: 1, keys: { k1 } }],
    ["a key as its own id", { current: base64, keys: { [base64]: "k1" } }],
    ["an empty id", { current: "", keys: { "": k1 } }],
    ["an id with a dot", { current: "a.b", keys: { "a.b": k1 } }],
    ["an id of 33 characters", { current: "x".repeat(33), keys: { ["x".repeat(33)]: k1 } }],
    ["31 bytes", { current: "k1", keys: { k1: k1.slice(1) } }],
    ["33 bytes", { current: "k1", keys: { k1: new Uint8Array(33) } }],
    ["16 bytes, as text", { current: "k1", keys: { k1: Buffer.from(k1.slice(16)).toString("base64") } }],
    ["hexadecimal", { current: "k1", keys: { k1: Buffer.from(k1).toString("hex") } }],
    ["a phrase", { current: "k1", keys: { k1: "correct horse battery staple" } }],
    ["an empty key", { current: "k1", keys: { k1: "" } }],
    ["a key that is not there", { current: "k1", keys: { k1: undefined } }],
    ["a bad key that is not current", { current: "k1", keys: { k1, k2: "short" } }],
  ])("%s is refused, and no key is shown", (_, options) => {
    const error = failureOf(() => aesGcm(options as never)) as DurableError;
    expect(error.code).toBe("invalid-options");
    expect(error.message).toMatch(/^aesGcm /);
    for (const text of [base64, Buffer.from(k1).toString("hex"), "correct horse", "short"])
      expect(`${error.message} ${JSON.stringify(error.details)}`).not.toContain(text);
  });

  test("the way to make a key is told", () => {
    for (const keys of [{}, { k1: "" }, { k1: "x".repeat(43) + "!" }])
      expect(() => aesGcm({ current: "k1", keys })).toThrow(/openssl rand -base64 32/);
  });

  test("without Web Crypto the cipher is not made", () => {
    vi.stubGlobal("crypto", {});
    expect(codeOf(() => aesGcm({ current: "k1", keys: { k1 } }))).toBe("invalid-options");
    vi.unstubAllGlobals();
  });
});
