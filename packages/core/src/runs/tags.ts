/** The tags with which a run begins, and the filters of lists. Loaded at their first use. */

import type { Definition } from "../engine/definition.ts";
import type { ListQuery, Storage } from "../ports/storage.ts";
import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertTagCount, checkedTags, type Tags } from "../values/run-tags.ts";

/** The tags of the workflow, with those of the start in front of them. */
export function firstTags({ name, tags }: Definition, input: Json, given: Tags | undefined): Tags {
  const where = `The start of "${name}"`;
  const own = typeof tags === "function" ? tags(decode(input, `input of workflow "${name}"`) as never) : tags;
  const all = { ...checkedTags(own ?? {}, where), ...checkedTags(given ?? {}, where) };
  assertTagCount(Object.keys(all).length, where);
  return Object.fromEntries(Object.entries(all).filter(isTag));
}

function isTag(tag: [string, string | null]): tag is [string, string] {
  return tag[1] !== null;
}

/** Checks the filters that only some storages know. */
export function assertFindable({ finds }: Storage, query: ListQuery): void {
  if (finds !== true)
    throw new DurableError(
      "invalid-options",
      "This storage cannot list runs by tags, version, createdAfter, createdBefore or q. Filter its pages yourself, or use a storage that `finds`.",
    );
  const { tags = {}, createdAfter = 0, createdBefore = 0, q = "" } = query;
  const texts = [query.version ?? []].flat();
  if (Object.values(checkedTags(tags, "list()")).includes(null)) throw invalid("tags", tags);
  for (const [name, time] of Object.entries({ createdAfter, createdBefore }))
    if (!Number.isFinite(time)) throw invalid(name, time);
  for (const text of [q, ...texts]) if (typeof text !== "string") throw invalid("q or version", text);
}

function invalid(name: string, value: unknown): DurableError {
  return new DurableError("invalid-options", `list() got an invalid ${name}: ${show(value)}.`);
}
