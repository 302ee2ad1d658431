/** Requests signed like each sender does, with node:crypto and without code of the package. */

import { createHmac } from "node:crypto";

const hmac = (key: string | Uint8Array, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

export interface Signed {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** `key` is the raw key, without prefix and base64. */
export function signStandard(key: Uint8Array, id: string, seconds: number, body: string): Signed {
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${hmac(key, `${id}.${seconds}.${body}`).toString("base64")}`,
    },
  };
}

export function signGithub(secret: string, body: string): Signed {
  return {
    body,
    headers: {
      "content-type": "application/json",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-github-event": "push",
      "x-hub-signature-256": `sha256=${hmac(secret, body).toString("hex")}`,
    },
  };
}

export function signStripe(secret: string, seconds: number, body: string): Signed {
  const v1 = hmac(secret, `${seconds}.${body}`).toString("hex");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "stripe-signature": `t=${seconds},v0=${"0".repeat(64)},v1=${v1}`,
    },
  };
}

export function signSlack(secret: string, seconds: number, body: string): Signed {
  return {
    body,
    headers: {
      "content-type": body.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": String(seconds),
      "x-slack-signature": `v0=${hmac(secret, `v0:${seconds}:${body}`).toString("hex")}`,
    },
  };
}

export function requestOf({ body, headers }: Signed, changes: Record<string, string> = {}): Request {
  return new Request("http://lab.example/hook", {
    method: "POST",
    body,
    headers: { ...headers, ...changes },
  });
}
