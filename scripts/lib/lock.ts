/**
 * What the lock file must hold so that `npm ci` works on every platform.
 *
 * When a registry lacks the binary of one platform, npm leaves it out of the lock without a word, and that
 * platform cannot install or run the package. So each family of platform packages is looked at as a whole.
 */

export type Platform = { readonly name: string; readonly os: string; readonly cpu: string };

export const platforms: readonly Platform[] = [
  { name: "linux-x64", os: "linux", cpu: "x64" },
  { name: "linux-arm64", os: "linux", cpu: "arm64" },
  { name: "darwin-x64", os: "darwin", cpu: "x64" },
  { name: "darwin-arm64", os: "darwin", cpu: "arm64" },
  { name: "win32-x64", os: "win32", cpu: "x64" },
];

export type LockEntry = {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};
export type Lock = { readonly packages: Readonly<Record<string, LockEntry>> };

/** A package whose binaries come as optional dependencies, and where each platform finds its own. */
export type Family = {
  readonly owner: string;
  readonly bindings: ReadonlyMap<string, readonly string[]>;
  /** Optional dependencies that the owner asks for and the lock does not hold. */
  readonly dropped: readonly string[];
};

/** One optional dependency is a feature of one platform (fsevents); two or more are a family. */
export function families(lock: Lock): Family[] {
  return Object.entries(lock.packages).flatMap(([owner, { optionalDependencies = {} }]) => {
    const found = Object.keys(optionalDependencies).map((name) => ({
      name,
      path: resolve(lock, owner, name),
    }));
    const dropped = found.flatMap(({ name, path }) => (path === null ? [name] : []));
    const held = found.flatMap(({ path }) => (path === null ? [] : [{ path, ...lock.packages[path] }]));
    const forPlatforms = held.filter(({ os, cpu }) => os !== undefined || cpu !== undefined);
    if (forPlatforms.length + dropped.length < 2) return [];
    const bindings = platforms.map(
      (platform) =>
        [
          platform.name,
          forPlatforms.filter((entry) => fits(entry, platform)).map(({ path }) => path),
        ] as const,
    );
    return [{ owner: owner || "(workspace)", bindings: new Map(bindings), dropped }];
  });
}

/** Everything that would make an install fail or differ on one of the platforms, as sentences. */
export function lockProblems(lock: Lock): string[] {
  const incomplete = families(lock).flatMap(({ owner, bindings, dropped }) => [
    ...dropped.map((name) => `${owner} asks for ${name}, which the lock file does not hold.`),
    ...[...bindings].flatMap(([platform, paths]) =>
      paths.length > 0 ? [] : [`${owner} has no binary for ${platform}.`],
    ),
  ]);
  const unsafe = Object.entries(lock.packages).flatMap(([path, { link, integrity, resolved }]) => {
    if (!path.includes("node_modules/") || link === true) return [];
    if (resolved !== undefined) return [`${path} names the address it was downloaded from.`];
    return integrity === undefined ? [`${path} has no integrity hash.`] : [];
  });
  return [...incomplete, ...unsafe];
}

/** npm's look-up: beside the owner, then in every folder above it. */
function resolve(lock: Lock, owner: string, name: string): string | null {
  for (let base = owner; ; base = base.slice(0, Math.max(0, base.lastIndexOf("/node_modules/")))) {
    const path = `${base === "" ? "" : `${base}/`}node_modules/${name}`;
    if (lock.packages[path] !== undefined) return path;
    if (base === "") return null;
  }
}

function fits({ os, cpu, libc }: LockEntry, platform: Platform): boolean {
  return allows(os, platform.os) && allows(cpu, platform.cpu) && allows(libc, "glibc");
}

function allows(list: readonly string[] | undefined, value: string): boolean {
  return list === undefined || list.includes(value);
}
