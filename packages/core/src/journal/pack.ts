/**
 * Cuts large values into blobs, so that parts which two values share are stored once.
 *
 * pack.1. The cuts depend on the content, never on the position: a list that grew shares all its old parts, and so does
 *     a list that lost an item in the middle. The rest after the last cut stays inline, because it changes next.
 * pack.2. Nothing is lost: `unpack` returns what `pack` was given.
 * pack.3. In the packed form `{"$":"@name"}` is the content of a blob, `{"$":"*name name"}` in a list stands for the
 *     items of several blobs, `{"$":"+name name","v":rest}` is a text in pieces, and `{"$":"=","v":[[key, value]]}` an
 *     object with many fields. The codec has no such tags.
 */

import type { Json } from "../values/codec/tags.ts";

/** A value with a text up to this length is written inline. */
export const inlineLength = 4_096;
/** Parts of a packed value up to this length stay inline. */
const partLength = 1_024;
/** Longer texts are cut into pieces. */
const wholeText = 16_384;
/**
 * Lengths of pieces of texts and of groups of items: the shortest, the average additional length until a cut, and the
 * longest. Short ones cost names, long ones are written again when they grow. These numbers cost least for values that
 * grow by about 10 kB at a time.
 */
const pieceSizes = { least: 640, more: 64, most: 896 };
const groupSizes = { least: 512, more: 256, most: partLength };
/** Above this length parts are four times as long, and again above four times this length, so their number stays small. */
const manyParts = 2 ** 22;
/** The smallest and the largest number of names in one node. */
const fewNames = 4;
const manyNames = 6;

/** Stores a text as a blob and returns its name. */
export type Keep = (text: string) => string;

/** The packed form of a value, as JSON text. */
export function pack(json: Json, keep: Keep): string {
  if (typeof json === "string") return packText(json, keep);
  if (json === null || typeof json !== "object") return JSON.stringify(json);
  const small = (part: Json): string => {
    const text = pack(part, keep);
    return text.length > partLength ? `{"$":"@${keep(text)}"}` : text;
  };
  if (Array.isArray(json)) return packItems((json as readonly Json[]).map(small), keep);
  const fields = Object.entries(json).map(([key, value]) => [JSON.stringify(key), small(value)] as const);
  const text = `{${fields.map(([key, value]) => `${key}:${value}`).join(",")}}`;
  if (text.length <= inlineLength) return text;
  const pairs = fields.map(([key, value]) => `[${key},${value}]`);
  return `{"$":"=","v":${packItems(pairs, keep)}}`;
}

/** Stores neighbouring items together, in groups. */
function packItems(items: readonly string[], keep: Keep): string {
  const whole = items.reduce((sum, item) => sum + item.length + 1, 1);
  if (whole <= partLength) return `[${items.join(",")}]`;
  const { least, more, most } = scaled(groupSizes, whole);
  const names: string[] = [];
  let group: string[] = [];
  let length = 0;
  const close = (): void => {
    names.push(keep(`[${group.join(",")}]`));
    group = [];
    length = 0;
  };
  for (const item of items) {
    if (length + item.length > most && length > 0) close();
    group.push(item);
    length += item.length;
    if (length >= least && chanceOf(item) * more < item.length) close();
  }
  const first = names.length === 0 ? [] : [`{"$":"*${gather(names, (few) => keep(`[{"$":"*${few}"}]`))}"}`];
  return `[${[...first, ...group].join(",")}]`;
}

function packText(text: string, keep: Keep): string {
  if (text.length <= wholeText) return JSON.stringify(text);
  const { least, more, most } = scaled(pieceSizes, text.length);
  const names: string[] = [];
  let start = 0;
  // A character leaves the hash after 32 more, so equal surroundings give equal cuts.
  for (let i = 0, hash = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    hash = ((hash << 1) + Math.imul(code ^ (code << 7), 0x9e3779b1)) | 0;
    const length = i + 1 - start;
    if (length < least || (length < most && hash >>> 0 >= 2 ** 32 / more)) continue;
    names.push(keep(JSON.stringify(text.slice(start, i + 1))));
    start = i + 1;
  }
  const first = gather(names, (few) => keep(`{"$":"+${few}"}`));
  return `{"$":"+${first}","v":${JSON.stringify(text.slice(start))}}`;
}

type Sizes = typeof pieceSizes;

function scaled({ least, more, most }: Sizes, length: number): Sizes {
  const by = 4 ** Math.max(0, Math.floor(Math.log2((length / manyParts) * 4) / 2));
  return { least: least * by, more: more * by, most: most * by };
}

/** Stores neighbouring names in nodes, and the names of nodes in further nodes, until few are left. */
function gather(names: readonly string[], node: (names: string) => string): string {
  let rest: readonly string[] = [];
  for (let level = names; ;) {
    if (level.length <= fewNames) return [...level, ...rest].join(" ");
    const nodes: string[] = [];
    let start = 0;
    for (const [i, name] of level.entries()) {
      const count = i + 1 - start;
      if (count < fewNames || (count < manyNames && chanceOf(name) < 0.5)) continue;
      nodes.push(node(level.slice(start, i + 1).join(" ")));
      start = i + 1;
    }
    rest = [...level.slice(start), ...rest];
    level = nodes;
  }
}

/** A number in [0, 1) that depends only on the text. */
function chanceOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 2 ** 32;
}

/** True when a text may contain packed parts. A quick test, so that most records need not be searched. */
export function mayBePacked(text: string): boolean {
  return /\{"\$":"[@*+=]/.test(text);
}

/** Puts the blobs back. `find` returns the unpacked content of a blob; parts are shared, not copied. */
export function unpack(json: Json, find: (name: string) => Json): Json {
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return unpackItems(json as readonly Json[], find);
  const { $: tag, v } = json as { readonly $?: Json; readonly v?: Json };
  if (typeof tag === "string") {
    if (tag.startsWith("@")) return find(tag.slice(1));
    if (tag.startsWith("+")) return ([...namesIn(tag).map(find), v ?? ""] as string[]).join("");
    if (tag === "=") return Object.fromEntries(unpack(v ?? null, find) as [string, Json][]);
  }
  let changed = false;
  const fields = Object.entries(json).map(([key, value]) => {
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
      changed = true;
      // One by one, because a long list does not fit into the arguments of one call.
      for (const name of namesIn(tag))
        for (const inner of find(name) as readonly Json[]) unpacked.push(inner);
    } else {
      const inner = unpack(item, find);
      changed ||= inner !== item;
      unpacked.push(inner);
    }
  }
  return changed ? unpacked : items;
}

function namesIn(tag: string): string[] {
  return tag.length === 1 ? [] : tag.slice(1).split(" ");
}
