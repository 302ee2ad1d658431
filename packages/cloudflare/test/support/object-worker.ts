/** Does in a Durable Object, on its SQLite, what a test asks a bucket to do. */

import { objectBucket, type ObjectSql } from "../../src/index.ts";
import type { Bucket } from "@durable/core/remote";

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

type Call = { readonly operation: keyof Bucket; readonly args: readonly never[] };

export class Texts {
  readonly #bucket: Bucket;

  constructor({ storage }: { readonly storage: ObjectSql }) {
    this.#bucket = objectBucket(storage);
  }

  async fetch(request: Request): Promise<Response> {
    const { operation, args } = (await request.json()) as Call;
    const work = this.#bucket[operation] as (...args: readonly never[]) => Promise<unknown>;
    return Response.json((await work(...args)) ?? null);
  }
}

const handler = {
  fetch(request: Request, { TEXTS }: { readonly TEXTS: Namespace }): Promise<Response> {
    const name = new URL(request.url).searchParams.get("prefix") ?? "";
    return TEXTS.get(TEXTS.idFromName(name)).fetch(request);
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
