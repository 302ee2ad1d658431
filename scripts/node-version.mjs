// Plain JavaScript that runs on old Nodes too. The oldest Node that runs TypeScript sources as they are.
const [needsMajor, needsMinor] = [22, 18];

export const neededNode = `${needsMajor}.${needsMinor}`;

/** True for a version, "20.20.2", that the scripts of this workspace cannot run on. */
export function isTooOld(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < needsMajor || (major === needsMajor && minor < needsMinor);
}
