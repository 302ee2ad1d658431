/**
 * Signature Version 4 on Web Crypto: every header that is sent is signed, and no other is sent. It also signs
 * for services other than the store, such as a queue. Proven in test/requests.test.ts.
 */

/** The keys of an AWS-compatible account. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Only for temporary credentials. */
  readonly sessionToken?: string | undefined;
}

/** The service and region that a signature is valid for. */
export interface SignerScope {
  readonly region: string;
  /** The name that AWS uses: `s3`, `sqs`. */
  readonly service: string;
}

/** A request with all headers except those of the signature; header names in lower case. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

const utf8 = new TextEncoder();

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sha256(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", data));
}

async function hmac(key: ArrayBuffer | Uint8Array<ArrayBuffer>, text: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return crypto.subtle.sign("HMAC", imported, utf8.encode(text));
}

/** Encodes everything that RFC 3986 reserves; `encodeURIComponent` leaves five characters out. */
export function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Signs requests with Signature Version 4, on Web Crypto. Every header that is sent is signed. */
export class Signer {
  readonly #credentials: Credentials;
  readonly #scope: SignerScope;
  /** The key of a day takes four hashes and is shared by all requests of the day. */
  #day = "";
  #key: Promise<ArrayBuffer> | null = null;

  constructor(credentials: Credentials, scope: SignerScope) {
    this.#credentials = credentials;
    this.#scope = scope;
  }

  /** The headers to send with a request made at this time. */
  async sign({ method, url, headers, body }: UnsignedRequest, now: Date): Promise<Record<string, string>> {
    const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const day = time.slice(0, 8);
    const hash = await sha256(body);
    const { accessKeyId, sessionToken } = this.#credentials;
    const signed: Record<string, string> = {
      ...headers,
      "x-amz-content-sha256": hash,
      "x-amz-date": time,
      ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
    };
    const names = ["host", ...Object.keys(signed)].toSorted();
    const lines = names.map((name) => `${name}:${name === "host" ? url.host : signed[name]?.trim()}\n`);
    const query = [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join("&");
    const request = [method, url.pathname, query, lines.join(""), names.join(";"), hash].join("\n");
    const scope = `${day}/${this.#scope.region}/${this.#scope.service}/aws4_request`;
    const text = ["AWS4-HMAC-SHA256", time, scope, await sha256(utf8.encode(request))].join("\n");
    const signature = hex(await hmac(await this.#keyOf(day), text));
    return {
      ...signed,
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
    };
  }

  #keyOf(day: string): Promise<ArrayBuffer> {
    if (this.#key === null || this.#day !== day) {
      this.#day = day;
      this.#key = this.#derive(day);
    }
    return this.#key;
  }

  async #derive(day: string): Promise<ArrayBuffer> {
    let key = await hmac(utf8.encode(`AWS4${this.#credentials.secretAccessKey}`), day);
    for (const part of [this.#scope.region, this.#scope.service, "aws4_request"]) key = await hmac(key, part);
    return key;
  }
}
