/**
 * Large values, cut into blobs so that what two values have in common is kept once.
 *
 * B1. Where a value is cut depends on what stands there, never on where it stands: a list that grew shares
 *     all its old parts, and so does one that lost an item in the middle.
 * B2. Nothing is lost: `unpack` gives back what `pack` was given.
 * B3. In the packed form `{"$":"@name"}` is the content of a blob, `{"$":"*name"}` in a list the items of
 *     one, and `{"$":"+","v":[...]}` a text in pieces. No value of the codec has such tags.
 */

import type { Json } from "./tags.ts";

/** A value whose text is not longer than this stands in its batch as it is. */
export const inlineLength = 4_096;
/** Parts of a packed value that are not longer stay where they are. */
const partLength = 1_024;
/** Longer texts are cut into pieces; shorter ones are kept whole. */
const wholeText = 16_384;

/** Keeps a text as a blob and gives its name. */
export type Keep = (text: string) => string;

/** The packed form of a value, as JSON text. */
export function pack(json: Json, keep: Keep): string {
  if (typeof json === "string") return packText(json, keep);
  if (json === null || typeof json !== "object") return JSON.stringify(json);
  if (Array.isArray(json))
    return packItems(
      json.map((item: Json) => small(pack(item, keep), keep)),
      keep,
    );
  const fields = Object.entries(json as { readonly [key: string]: Json });
  return `{${fields.map(([key, value]) => `${JSON.stringify(key)}:${small(pack(value, keep), keep)}`).join(",")}}`;
}

/** What is too long to stand inside something else becomes a blob of its own. */
function small(text: string, keep: Keep): string {
  return text.length > partLength ? `{"$":"@${keep(text)}"}` : text;
}

/** Items side by side are kept together in groups, and groups of groups, until the list is short. */
function packItems(items: readonly string[], keep: Keep): string {
  let level = items;
  for (let length = lengthOf(level); length > partLength;) {
    const groups = grouped(level).map((group) =>
      group.length === 1 && isPart(group[0])
        ? (group[0] as string)
        : `{"$":"*${keep(`[${group.join(",")}]`)}"}`,
    );
    const shorter = lengthOf(groups);
    if (shorter >= length) break;
    level = groups;
    length = shorter;
  }
  return `[${level.join(",")}]`;
}

function isPart(item: string | undefined): boolean {
  return item?.startsWith('{"$":"*') === true;
}

function lengthOf(items: readonly string[]): number {
  return items.reduce((sum, item) => sum + item.length + 1, 1);
}

/** A group ends with an item that says so by its content, one in eight, or when it is full. */
function grouped(items: readonly string[]): string[][] {
  const groups: string[][] = [];
  let group: string[] = [];
  let length = 0;
  for (const item of items) {
    if (length + item.length > partLength && group.length > 0) {
      groups.push(group);
      group = [];
      length = 0;
    }
    group.push(item);
    length += item.length;
    if ((rolled(item, 0, item.length) >>> 24) % 8 === 0 && group.length > 1) {
      groups.push(group);
      group = [];
      length = 0;
    }
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

function packText(text: string, keep: Keep): string {
  if (text.length <= wholeText) return JSON.stringify(text);
  const pieces = cutText(text).map((piece) => `{"$":"@${keep(JSON.stringify(piece))}"}`);
  return `{"$":"+","v":${packItems(pieces, keep)}}`;
}

/** Cuts behind characters that say so, on average every 1,024; less often in very long texts. */
function cutText(text: string): string[] {
  const average = 2 ** Math.max(10, Math.floor(Math.log2(text.length / 1_024)));
  const pieces: string[] = [];
  let start = 0;
  let hash = 0;
  for (let i = 0; i < text.length; i++) {
    hash = roll(hash, text.charCodeAt(i));
    const length = i + 1 - start;
    if (length < average / 4 || (length < average * 4 && hash >>> 0 >= 2 ** 32 / average)) continue;
    pieces.push(text.slice(start, i + 1));
    start = i + 1;
  }
  if (start < text.length) pieces.push(text.slice(start));
  return pieces;
}

/** Each character drops out after 32 more: equal surroundings give equal cuts. */
function roll(hash: number, code: number): number {
  return ((hash << 1) + Math.imul(code ^ (code << 7), 0x9e3779b1)) | 0;
}

function rolled(text: string, from: number, to: number): number {
  let hash = 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** True when a text may hold parts that were packed: a quick look that spares most records a walk. */
export function mayBePacked(text: string): boolean {
  return text.includes('{"$":"@') || text.includes('{"$":"*') || text.includes('{"$":"+');
}

/** Puts the blobs back. `find` gives the content of a blob, itself unpacked; parts are shared, not copied. */
export function unpack(json: Json, find: (name: string) => Json): Json {
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return unpackItems(json as readonly Json[], find);
  const tag = (json as { readonly $?: Json }).$;
  if (typeof tag === "string") {
    if (tag.startsWith("@")) return find(tag.slice(1));
    if (tag === "+") {
      const pieces = unpack((json as { readonly v: Json }).v, find);
      return Array.isArray(pieces) ? pieces.join("") : "";
    }
  }
  let changed = false;
  const fields = Object.entries(json as { readonly [key: string]: Json }).map(([key, value]) => {
    const unpacked = unpack(value, find);
    changed ||= unpacked !== value;
    return [key, unpacked] as const;
  });
  return changed ? Object.fromEntries(fields) : json;
}

function unpackItems(items: readonly Json[], find: (name: string) => Json): Json {
  let changed = false;
  const unpacked: Json[] = [];
  for (const item of items) {
    const tag = item !== null && typeof item === "object" ? (item as { readonly $?: Json }).$ : undefined;
    if (typeof tag === "string" && tag.startsWith("*")) {
      const part = find(tag.slice(1));
      changed = true;
      // One by one: a long list would not fit into the arguments of one call.
      if (Array.isArray(part)) for (const inner of part as readonly Json[]) unpacked.push(inner);
    } else {
      const inner = unpack(item, find);
      changed ||= inner !== item;
      unpacked.push(inner);
    }
  }
  return changed ? unpacked : items;
}
