/** The parts of a release that are only text: the next version, manifests with it, and the changelog cut at it. */

const plain = /^(\d+)\.(\d+)\.(\d+)$/;

/** The version after `current`: by kind of change (major, minor, patch), or a given version that must be higher. */
export function nextVersion(current: string, wanted: string): string {
  const [major, minor, patch] = parts(current);
  switch (wanted) {
    case "major":
      return `${major + 1}.0.0`;
    case "minor":
      return `${major}.${minor + 1}.0`;
    case "patch":
      return `${major}.${minor}.${patch + 1}`;
    default: {
      const named = parts(wanted);
      const first = named.findIndex((part, i) => part !== parts(current)[i]);
      if (first === -1 || (named[first] ?? 0) < (parts(current)[first] ?? 0))
        throw new Error(`${wanted} does not come after ${current}`);
      return wanted;
    }
  }
}

function parts(version: string): [number, number, number] {
  const [, major, minor, patch] = plain.exec(version) ?? [];
  if (patch === undefined)
    throw new Error(
      `"${version}" is not a version. Give major, minor, patch or three numbers such as 1.2.3.`,
    );
  return [Number(major), Number(minor), Number(patch)];
}

type Fields = { readonly [field: string]: unknown };

const dependencyFields = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/**
 * A manifest, or an entry of the lock file, with the new version. Dependencies on our own packages get it, too: exactly, or as
 * the least version of a range; "*" stays.
 */
export function withVersion<T extends Fields>(manifest: T, version: string, ours: ReadonlySet<string>): T {
  const rangeOf = (name: string, range: string): string => {
    if (!ours.has(name) || range === "*") return range;
    return range.startsWith("^") ? `^${version}` : version;
  };
  const changed = dependencyFields
    .filter((field) => manifest[field] !== undefined)
    .map((field) => {
      const listed = Object.entries(manifest[field] as Readonly<Record<string, string>>);
      return [
        field,
        Object.fromEntries(listed.map(([name, range]) => [name, rangeOf(name, range)])),
      ] as const;
    });
  const own = manifest["version"] === undefined ? {} : { version };
  return { ...manifest, ...own, ...Object.fromEntries(changed) };
}

type Lock = Fields & { readonly packages: Readonly<Record<string, Fields>> };

/** The lock file with the new version of all workspaces. What comes from the registry is not touched. */
export function lockWithVersion(lock: Lock, version: string, ours: ReadonlySet<string>): Lock {
  const entries = Object.entries(lock.packages).map(([path, entry]) =>
    path.includes("node_modules") ? [path, entry] : [path, withVersion(entry, version, ours)],
  );
  return { ...lock, version, packages: Object.fromEntries(entries) as Lock["packages"] };
}

const unreleased = /^## \[Unreleased\]\n([\s\S]*?)(?=^## \[|^\[Unreleased\]:)/m;
const compareLink = /^\[Unreleased\]: (\S+)\/compare\/v([\d.]+)\.\.\.HEAD$/m;

export type Cut = {
  /** The changelog with the notes under the new version, and nothing under "Unreleased". */
  readonly changelog: string;
  /** The notes of this version. */
  readonly notes: string;
};

/** Moves the notes under "Unreleased" to a section for the version. Throws when there are none. */
export function cutChangelog(changelog: string, version: string, date: string): Cut {
  const notes = unreleased.exec(changelog)?.[1]?.trim();
  const link = compareLink.exec(changelog);
  if (notes === undefined || link === null)
    throw new Error("CHANGELOG.md needs a section [Unreleased] and its link at the end");
  if (notes === "")
    throw new Error("CHANGELOG.md has nothing under [Unreleased]: say what changed for users");
  const [, repository, previous] = link;
  const links = [
    `[Unreleased]: ${repository}/compare/v${version}...HEAD`,
    `[${version}]: ${repository}/compare/v${previous}...v${version}`,
  ];
  return {
    changelog: changelog
      .replace(unreleased, () => `## [Unreleased]\n\n## [${version}] - ${date}\n\n${notes}\n\n`)
      .replace(compareLink, () => links.join("\n")),
    notes,
  };
}
