/** A bug as data: a text in one source file of core, and its replacement. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../lib/workspace.ts";

export interface Patch {
  /** Below packages/core/src. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Patch {
  readonly name: string;
  /** The law or the numbered invariant that no longer holds: "law 8", "J3". */
  readonly breaks: string;
  /** What goes wrong, in one sentence. */
  readonly why: string;
  /** Further patches, for a promise that is kept in two places. */
  readonly also?: readonly Patch[];
  /** The test file that catches the bug if no simulation can, and the reason why none can. */
  readonly seenBy?: { readonly test: string; readonly because: string };
  /** Why the bug has no visible effect: the promise is also kept in another place. */
  readonly redundant?: string;
}

export const coreSources: string = join(root, "packages", "core", "src");

export function readSource(file: string): string {
  return readFileSync(join(coreSources, file), "utf8");
}

/** The patches of one bug; each names one file. */
export function patchesOf({ file, find, replace, also = [] }: PlantedBug): Patch[] {
  return [{ file, find, replace }, ...also];
}

/** A source with the patches of its file in place; throws when one no longer applies. */
export function patched(file: string, source: string, patches: readonly Patch[]): string {
  return patches
    .filter((patch) => patch.file === file)
    .reduce((text, { find, replace }) => {
      const at = text.indexOf(find);
      if (at === -1) throw new Error(`${file} no longer has: ${find}`);
      if (text.includes(find, at + 1)) throw new Error(`${file} has more than one: ${find}`);
      return text.slice(0, at) + replace + text.slice(at + find.length);
    }, source);
}
