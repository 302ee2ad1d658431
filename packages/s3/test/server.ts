/** Cloudflare's own R2, run by workerd in this process, behind its S3 API: conditions and signatures are checked. */

import { Miniflare } from "miniflare";

export const credentials = { accessKeyId: "an access key", secretAccessKey: "a/secret+key=" };

export interface Server {
  /** Of the Worker beside it, which has the bucket as its binding JOURNAL. */
  readonly url: URL;
  readonly endpoint: string;
  readonly stop: () => Promise<void>;
}

export async function startServer(
  script = 'export default { fetch: () => new Response("ok") }',
): Promise<Server> {
  const server = new Miniflare({
    modules: true,
    script,
    cf: false,
    compatibilityDate: "2026-07-01",
    host: "127.0.0.1",
    port: 0,
    r2Buckets: { JOURNAL: { id: "journal", s3Credentials: credentials } },
  });
  const url = await server.ready;
  return {
    url,
    endpoint: `${url.origin}/cdn-cgi/local/r2/s3`,
    stop: () => server.dispose(),
  };
}
