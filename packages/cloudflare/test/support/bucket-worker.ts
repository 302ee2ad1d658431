/** Does in a Worker, with its R2 binding, what a test asks a bucket to do. */

import { r2Bucket, type R2Binding } from "../../src/index.ts";

export type Call = {
  readonly operation: "get" | "create" | "put" | "list" | "delete";
  readonly args: readonly never[];
};

const handler = {
  async fetch(request: Request, env: { readonly JOURNAL: R2Binding }): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const bucket = r2Bucket(env.JOURNAL, { prefix: searchParams.get("prefix") ?? "" });
    const { operation, args } = (await request.json()) as Call;
    const work = bucket[operation].bind(bucket) as (...args: readonly never[]) => Promise<unknown>;
    return Response.json((await work(...args)) ?? null);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
