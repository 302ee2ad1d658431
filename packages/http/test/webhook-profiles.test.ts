/** Signatures: published examples of each sender, and variations that are invalid. */

import { github, slack, standardWebhooks, stripe, verifyWebhook, type WebhookProfile } from "@durable/http";
import { describe, expect, test } from "vitest";
import { requestOf, type Signed, signGithub, signSlack, signStandard, signStripe } from "./support/signed.ts";

const at = 1_700_000_000;
const key = Buffer.from("a key of the sender of 32 bytes!");
const standardSecret = `whsec_${key.toString("base64")}`;

/** The senders' own worked examples. */
const published: Record<string, { profile: WebhookProfile; now: number; signed: Signed; id: string }> = {
  "Standard Webhooks": {
    profile: standardWebhooks({ secrets: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }),
    now: 1_614_265_330,
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    signed: {
      body: '{"test": 2432232314}',
      headers: {
        "content-type": "application/json",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
    },
  },
  GitHub: {
    profile: github({ secrets: "It's a Secret to Everybody" }),
    now: 0,
    id: "sha256-dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f",
    signed: {
      body: "Hello, World!",
      headers: {
        "content-type": "application/json",
        "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      },
    },
  },
  Slack: {
    profile: slack({ secrets: "8f742231b10e8888abcd99yyyzzz85a5" }),
    now: 1_531_420_618,
    id: "sha256-390eeeff8d0cb7c9f6ecf8a88c3df6452fea0914eb02f64844369f3758d8d330",
    signed: {
      body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      },
    },
  },
};

test.each(Object.entries(published))(
  "the published example of %s holds",
  async (_name, { profile, now, signed, id }) => {
    const event = await verifyWebhook(requestOf(signed), { profile, now: () => now * 1_000 });
    expect(event.id).toBe(id);
    expect(event.text()).toBe(signed.body);
    expect(event.runId).toMatch(/^[a-z][a-z0-9-]+-[0-9a-f]{40}$/);
  },
);

interface Case {
  readonly make: (secrets: string | string[]) => WebhookProfile;
  readonly secret: string;
  readonly other: string;
  readonly sign: (secret: string, seconds: number, body: string) => Signed;
  readonly signature: string;
  readonly timed: boolean;
}

const keyOf = (secret: string): Buffer => Buffer.from(secret.replace("whsec_", ""), "base64");
const cases: Record<string, Case> = {
  "standard-webhooks": {
    make: (secrets) => standardWebhooks({ secrets }),
    secret: standardSecret,
    other: `whsec_${Buffer.from("another one, of 24 bytes").toString("base64")}`,
    sign: (secret, seconds, body) => signStandard(keyOf(secret), "msg_1", seconds, body),
    signature: "webhook-signature",
    timed: true,
  },
  github: {
    make: (secrets) => github({ secrets }),
    secret: "one secret of webhooks",
    other: "two secrets of webhooks",
    sign: (secret, _seconds, body) => signGithub(secret, body),
    signature: "x-hub-signature-256",
    timed: false,
  },
  stripe: {
    make: (secrets) => stripe({ secrets }),
    secret: "whsec_one_secret_of_webhooks",
    other: "whsec_two_secrets_of_webhooks",
    sign: signStripe,
    signature: "stripe-signature",
    timed: true,
  },
  slack: {
    make: (secrets) => slack({ secrets }),
    secret: "one secret of webhooks",
    other: "two secrets of webhooks",
    sign: signSlack,
    signature: "x-slack-signature",
    timed: true,
  },
};

const body = '{"id":"evt_1","event_id":"Ev1","n":1}';

/** The id of a request, or the code of its refusal. */
async function verdict(profile: WebhookProfile, request: Request, now = at): Promise<string> {
  try {
    return (await verifyWebhook(request, { profile, now: () => now * 1_000 })).id;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe.each(Object.entries(cases))("%s", (name, { make, secret, other, sign, signature, timed }) => {
  const good = (): Signed => sign(secret, at, body);

  test("what its sender signed holds, under any of the secrets", async () => {
    const event = await verifyWebhook(requestOf(good()), {
      profile: make([other, secret]),
      now: () => at * 1_000,
    });
    expect(event.at).toBe(timed ? at * 1_000 : null);
    expect(event.json()).toEqual(JSON.parse(body));
    expect(make(secret).name).toBe(name);
  });

  test("another secret, another body, another time do not", async () => {
    expect(await verdict(make(other), requestOf(good()))).toBe("bad-signature");
    expect(await verdict(make(secret), requestOf({ ...good(), body: `${body} ` }))).toBe("bad-signature");
    expect(await verdict(make(secret), requestOf({ ...good(), body: "" }))).toBe("bad-signature");
    if (!timed) return;
    const moved = sign(secret, at + 1, body).headers;
    const mixed = { ...moved, [signature]: good().headers[signature] as string };
    if (name !== "stripe")
      expect(await verdict(make(secret), requestOf({ body, headers: mixed }))).toBe("bad-signature");
  });

  test("each byte of a long body counts, the last one, too", async () => {
    const long = sign(secret, at, `{"id":"evt_1","event_id":"Ev1","text":"${"x".repeat(70_000)}"}`);
    expect(await verdict(make(secret), requestOf(long))).not.toBe("bad-signature");
    for (const place of [0, 63, 64, 1_024, 65_536, long.body.length - 1]) {
      const changed = `${long.body.slice(0, place)}!${long.body.slice(place + 1)}`;
      expect(await verdict(make(secret), requestOf({ ...long, body: changed })), `${place}`).toBe(
        "bad-signature",
      );
    }
  });

  test("each bit of the signature counts, and so does its shape", async () => {
    const profile = make(secret);
    const value = good().headers[signature] as string;
    const start = Math.max(value.lastIndexOf("v1,") + 3, value.slice(0, -1).lastIndexOf("=") + 1);
    // The last letter of base64 has unused bits.
    for (let i = start; i < value.length - 2; i++) {
      const letter = value[i] as string;
      const flipped = value.slice(0, i) + (letter === "A" || letter === "a" ? "b" : "a") + value.slice(i + 1);
      expect(await verdict(profile, requestOf(good(), { [signature]: flipped }))).toBe("bad-signature");
    }
    for (const wrong of [
      "",
      " ",
      value.slice(0, -2),
      `${value}00`,
      value.slice(start),
      `v9${value.slice(2)}`,
      "null",
      value.repeat(20),
    ])
      expect(await verdict(profile, requestOf(good(), { [signature]: wrong })), wrong).toBe("bad-signature");
  });

  test("H64 a header that is missing or comes twice is refused, also when one of the two is good", async () => {
    const profile = make(secret);
    for (const header of Object.keys(good().headers).filter(
      (one) => one !== "content-type" && !one.startsWith("x-github"),
    )) {
      const without = requestOf(good());
      without.headers.delete(header);
      expect(await verdict(profile, without), header).toBe("bad-signature");
      for (const twin of [good().headers[header] as string, "0", ""]) {
        const twice = requestOf(good());
        twice.headers.append(header, twin);
        expect(await verdict(profile, twice), `${header} ${twin}`).toBe("bad-signature");
      }
    }
  });

  test("a time 300 s away holds, 301 s does not, either way", async () => {
    const expected = timed ? "bad-signature" : await verdict(make(secret), requestOf(good()));
    const id = await verdict(make(secret), requestOf(good()));
    for (const now of [at - 300, at + 300])
      expect(await verdict(make(secret), requestOf(good()), now)).toBe(id);
    for (const now of [at - 301, at + 301])
      expect(await verdict(make(secret), requestOf(good()), now)).toBe(expected);
  });

  test("other methods and media types are refused before anything is read", async () => {
    const profile = make(secret);
    const get = new Request("http://lab.example/hook", { headers: good().headers });
    expect(await verdict(profile, get)).toBe("method-not-allowed");
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const odd = new Request("http://lab.example/hook", { method, ...good() });
      expect(await verdict(profile, odd), method).toBe("method-not-allowed");
    }
    for (const type of ["text/plain", "application/jsonx", "text/json", "multipart/form-data", ""])
      expect(await verdict(profile, requestOf(good(), { "content-type": type })), type).toBe(
        "unsupported-type",
      );
    for (const type of ["application/json; charset=utf-8", "Application/JSON;v=1"])
      expect(await verdict(profile, requestOf(good(), { "content-type": type }))).not.toBe(
        "unsupported-type",
      );
  });

  test("a message signed with a guessed secret: refused as the first secret, and with the command for a better one", async () => {
    for (const weak of ["c2hvcnQ=", Buffer.alloc(32).toString("base64"), "a".repeat(64)]) {
      expect(() => make(weak)).toThrow(/too short or too regular.*openssl rand -base64 32/);
      expect(() => make([weak, secret])).toThrow(/too short or too regular/);
      // While the sender changes to the new one.
      expect(await verdict(make([secret, weak]), requestOf(sign(weak, at, body)))).not.toBe("bad-signature");
    }
  });

  test("without a secret, or with an odd name, no profile is made", () => {
    for (const secrets of ["", [], [secret, ""], undefined as never, [7] as never])
      expect(() => make(secrets)).toThrow(/secret/);
  });
});

test("ids come from what is signed: the event's own, or the body", async () => {
  const id = (profile: WebhookProfile, signed: Signed): Promise<string> =>
    verdict(profile, requestOf(signed));
  expect(
    await id(stripe({ secrets: "a secret of webhooks" }), signStripe("a secret of webhooks", at, body)),
  ).toBe("evt_1");
  expect(
    await id(slack({ secrets: "a secret of webhooks" }), signSlack("a secret of webhooks", at, body)),
  ).toBe("Ev1");
  for (const odd of ["[]", "null", '{"id":7}', '{"id":""}', '{"__proto__":{"id":"x"}}', "not json"])
    expect(
      await id(stripe({ secrets: "a secret of webhooks" }), signStripe("a secret of webhooks", at, odd)),
      odd,
    ).toMatch(/^sha256-/);
});

test("a signed time that is given twice is invalid, in either order and also when both are equal", async () => {
  const { headers } = signStripe("a secret of webhooks", at, body);
  const value = headers["stripe-signature"] as string;
  for (const twice of [`t=${at},${value}`, `t=1,${value}`, `${value},t=1`])
    expect(
      await verdict(
        stripe({ secrets: "a secret of webhooks" }),
        requestOf({ body, headers }, { "stripe-signature": twice }),
      ),
      twice,
    ).toBe("bad-signature");
});

test("an id has 256 visible characters at most, also when it is signed", async () => {
  const profile = standardWebhooks({ secrets: standardSecret });
  const of = (id: string): Promise<string> => verdict(profile, requestOf(signStandard(key, id, at, body)));
  expect(await of("i".repeat(256))).toBe("i".repeat(256));
  for (const id of ["i".repeat(257), "two words", "caf\u00e9"])
    expect(await of(id), id).toBe("bad-signature");
});

test("a signature of another version is ignored", async () => {
  const signed = signStandard(key, "msg_1", at, body);
  const mac = (signed.headers["webhook-signature"] as string).slice(3);
  for (const start of ["v1", "v1a", "v1;", "v1=", "v2,", "V1,", ""])
    expect(
      await verdict(
        standardWebhooks({ secrets: standardSecret }),
        requestOf(signed, { "webhook-signature": start + mac }),
      ),
      start,
    ).toBe("bad-signature");
});

test("several signatures: any may hold, sixteen at most", async () => {
  const profile = standardWebhooks({ secrets: standardSecret });
  const signed = signStandard(key, "msg_1", at, body);
  const good = signed.headers["webhook-signature"] as string;
  const bad = `v1,${Buffer.alloc(32).toString("base64")}`;
  const tried = (list: string[]): Promise<string> =>
    verdict(profile, requestOf(signed, { "webhook-signature": list.join(" ") }));
  expect(await tried([bad, "v1a,xyz", good])).toBe("msg_1");
  expect(await tried([...Array.from({ length: 15 }, () => bad), good])).toBe("msg_1");
  expect(await tried([...Array.from({ length: 16 }, () => bad), good])).toBe("bad-signature");
});

test("Svix's own headers are taken where that is asked for, and the two are not mixed", async () => {
  const { body: text, headers } = signStandard(key, "msg_1", at, body);
  const svix = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace("webhook", "svix"), value]),
  );
  const signed = { body: text, headers: svix };
  expect(
    await verdict(standardWebhooks({ secrets: standardSecret, prefix: "svix" }), requestOf(signed)),
  ).toBe("msg_1");
  expect(await verdict(standardWebhooks({ secrets: standardSecret }), requestOf(signed))).toBe(
    "bad-signature",
  );
});

test("options that make no sense are refused when the program starts", () => {
  expect(() => standardWebhooks({ secrets: "whsec_not base64" })).toThrow(/base64/);
  expect(() => standardWebhooks({ secrets: "whsec_" })).toThrow(/base64/);
  // Decoders differ over bits that no byte has, from one processor to another.
  expect(() => standardWebhooks({ secrets: "hunter2" })).toThrow(/not base64/);
  const unpadded = standardSecret.replace(/=+$/, "");
  expect(() => standardWebhooks({ secrets: [unpadded, `${unpadded}=`] })).not.toThrow();
  expect(() => github({ secrets: "a secret of webhooks", name: "../x" })).toThrow(/name/);
  for (const toleranceSeconds of [0, -1, Number.NaN, 1e9])
    expect(() => stripe({ secrets: "a secret of webhooks", toleranceSeconds })).toThrow(/tolerance/);
});
