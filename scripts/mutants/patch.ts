/**
 * A bug as data: a text of core, and its replacement.
 *
 * The place is found by the text alone, and white space does not count: a file may be moved, renamed, cut or formatted, and
 * the bug is still there.
 */
import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { root } from "../lib/workspace.ts";

/** One change of a source. */
export interface Change {
  /** Occurs exactly once in core, or in the one file that has `beside` as well. */
  readonly find: string;
  readonly replace: string;
  /** A text that stands in the same file: the name of its class, or of an invariant that it keeps. */
  readonly beside?: string;
}

/** A change whose place is known. */
export interface Patch {
  /** Below packages/core/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Change {
  readonly name: string;
  /** The law or the numbered invariant that no longer holds: "law 8", "J3". */
  readonly breaks: string;
  /** What goes wrong, in one sentence. */
  readonly why: string;
  /** Further changes, for a promise that is kept in two places. */
  readonly also?: readonly Change[];
  /** The test file that catches the bug if no simulation can, and the reason why none can. */
  readonly seenBy?: { readonly test: string; readonly because: string };
  /** Why the bug has no visible effect: the promise is also kept in another place. */
  readonly redundant?: string;
}

export const coreSources: string = join(root, "packages", "core", "src");

export function readSource(file: string): string {
  return readFileSync(join(coreSources, file), "utf8");
}

/** The sources of core, without white space. */
const packed = (): Map<string, string> =>
  new Map(
    globSync("**/*.ts", { cwd: coreSources }).map((file) => [
      file.split(sep).join("/"),
      pack(readSource(file)),
    ]),
  );
let sources: Map<string, string> | undefined;

/** The changes of one bug, each in its file. */
export function patchesOf({ find, replace, beside, also = [] }: PlantedBug): Patch[] {
  sources ??= packed();
  const all = [...sources];
  return [{ find, replace, ...(beside === undefined ? {} : { beside }) }, ...also].map((change) => {
    const wanted = [change.find, change.beside ?? ""].map(pack);
    const files = all.filter(([, text]) => wanted.every((part) => text.includes(part))).map(([file]) => file);
    const [file] = files;
    if (file === undefined) throw new Error(`core no longer has: ${change.find}`);
    if (files.length > 1)
      throw new Error(`${files.join(" and ")} have: ${change.find}. Say what stands beside it.`);
    return { file, find: change.find, replace: change.replace };
  });
}

function pack(text: string): string {
  return text.replaceAll(/\s/g, "");
}

/** A source with the patches of its file in place; throws when one no longer applies. */
export function patched(file: string, source: string, patches: readonly Patch[]): string {
  return patches
    .filter((patch) => patch.file === file)
    .reduce((text, { find, replace }) => {
      // As it is written, if that is one place.
      if (text.split(find).length === 2) return text.split(find).join(replace);
      const places = Array.from(text.matchAll(/\S/g), ({ index }) => index);
      const [code, wanted] = [pack(text), pack(find)];
      const at = code.indexOf(wanted);
      if (at === -1) throw new Error(`${file} no longer has: ${find}`);
      if (code.includes(wanted, at + 1)) throw new Error(`${file} has more than one: ${find}`);
      const end = (places[at + wanted.length - 1] as number) + 1;
      return text.slice(0, places[at]) + replace + text.slice(end);
    }, source);
}
