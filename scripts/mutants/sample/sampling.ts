/**
 * Which mutants are tried.
 *
 * sampling.1. Every place where a change is possible is as likely as any other, whatever file it is in; which change is
 *     made there is drawn next.
 * sampling.2. The same sources and the same seed give the same mutants, and a larger sample begins with the smaller one.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../../packages/testing/src/random.ts";
import { filesOf, type Area } from "./areas.ts";
import { isOtherProgram, sitesOf, type Mutant, type Site } from "./sites.ts";

export type Drawn = { readonly mutant: Mutant; readonly source: string };

export type Texts = ReadonlyMap<string, string>;

export function readTexts(root: string, area: Area): Texts {
  return new Map(filesOf(root, area).map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

export function allSites(texts: Texts): Site[] {
  return [...texts].flatMap(([file, text]) => sitesOf(file, text));
}

export function* draw(texts: Texts, area: string, seed: number): Generator<Drawn, void> {
  const random = seeded(seed ^ numberOf(area));
  const places = allSites(texts);
  for (let last = places.length - 1; last >= 0; last--) {
    const chosen = random.between(0, last);
    const place = places[chosen] as Site;
    places[chosen] = places[last] as Site;
    const mutant = random.pick(place);
    const source = texts.get(mutant.file) as string;
    if (isOtherProgram(mutant, source)) yield { mutant, source };
  }
}

function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}

/** The commit that is tried; changes of sources that are not committed get a name of their own. */
export function commitOf(root: string): string {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  const head = git("rev-parse", "HEAD").trim();
  const changed = git("diff", "HEAD", "--", "packages/*/src");
  return changed === "" ? head : `${head}+${createHash("sha256").update(changed).digest("hex").slice(0, 8)}`;
}

/** Nobody chooses it. */
export function seedOf(commit: string): number {
  return Number.parseInt(commit.slice(0, 8), 16);
}
