/**
 * Links of a package's README. In the repository they are relative, so that the documentation check can follow
 * them. The README of a tarball is read on npm and in node_modules, where only its own files exist, so packing
 * replaces them by addresses in the repository.
 */
import { statSync } from "node:fs";
import { join, posix } from "node:path";
import { readPage, replaceLinks } from "./markdown.ts";
import { type Manifest, root } from "./workspace.ts";

const isAbsolute = /^(?:[a-z][a-z+.-]*:|\/\/)/i;

/** The README as it is published: links that leave the package lead to the repository. */
export function publishedReadme(source: string, { name, repository }: Manifest, base: string = root): string {
  const address = /^git\+(https:.*)\.git$/.exec(repository?.url ?? "")?.[1];
  const directory = repository?.directory;
  if (address === undefined || directory === undefined)
    throw new Error(`${name} needs a repository with a git+https url and a directory`);
  return replaceLinks(source, (target) => {
    if (isAbsolute.test(target) || target.startsWith("#")) return target;
    const [path = "", anchor] = target.split("#");
    const place = posix.normalize(posix.join(directory, path));
    const isFolder = statSync(join(base, place), { throwIfNoEntry: false })?.isDirectory() === true;
    const kind = isFolder ? "tree" : "blob";
    return `${address}/${kind}/main/${place}${anchor === undefined ? "" : `#${anchor}`}`;
  });
}

/** Links of a packed README that lead to no file of its tarball. */
export function deadLinks(readme: string, files: ReadonlySet<string>): string[] {
  return readPage(readme)
    .links.filter(({ target }) => !isAbsolute.test(target) && !target.startsWith("#"))
    .filter(({ target }) => !files.has(posix.normalize(target.split("#")[0] ?? "")))
    .map(({ target, line }) => `README.md:${line} links to ${target}, which is not in the tarball`);
}
