/** What workerd runs: the same, with the bucket by its binding. */

import { r2Bucket, type R2Binding } from "@durable/cloudflare";
import { play, type Asked } from "./story.ts";

const handler = {
  async fetch(request: Request, env: { readonly JOURNAL: R2Binding }): Promise<Response> {
    return Response.json(await play(r2Bucket(env.JOURNAL), (await request.json()) as Asked));
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
