/** Where a bucket is, and how it is asked. */

import type { Credentials } from "./sign.ts";

export interface S3Options extends Credentials {
  readonly bucket: string;
  /** `auto` for R2; `us-east-1` by default. */
  readonly region?: string;
  /** Where the store is, without the bucket; AWS by default. */
  readonly endpoint?: string;
  /** Goes before every key, so that several deployments can share a bucket: `orders/`. */
  readonly prefix?: string;
  /** How long one request may take; 30 s by default. */
  readonly timeoutMs?: number;
  /** What sends requests; the system's by default. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
