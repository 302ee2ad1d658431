/** The options of a bucket. */

import type { Duration } from "@durable/core";
import type { Credentials } from "./sign.ts";

/** Where the bucket is, and who may use it. */
export interface S3Options extends Credentials {
  /** The name of the bucket. */
  readonly bucket: string;
  /** `us-east-1` by default; `auto` for R2. */
  readonly region?: string | undefined;
  /** The address of the store, without the bucket; AWS by default. */
  readonly endpoint?: string | undefined;
  /** Put before every key, so that several deployments can share a bucket: `orders/`. */
  readonly prefix?: string | undefined;
  /** How long one request may take; 30 s by default. */
  readonly timeout?: Duration | undefined;
  /** Sends the requests; the `fetch` of the system by default. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}
