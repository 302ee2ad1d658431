/**
 * Clocks and random sources that well-known packages read by themselves, and whose values do not reach the journal: ids
 * and timings of the AI SDK. Each is allowed by name, and only inside the package. Proven in
 * packages/ai-sdk/test/ambient.test.ts.
 */

import type { AmbientName } from "./ambient.ts";
import { framesOf, packageOf, type Frame } from "./call-site.ts";

interface Known {
  readonly of: RegExp;
  readonly names: ReadonlySet<AmbientName>;
}

const timings: readonly AmbientName[] = ["Math.random", "performance.now", "new Date", "Date.now"];
const known: readonly Known[] = [
  { of: /^ai$/, names: new Set(timings) },
  { of: /^@ai-sdk\//, names: new Set([...timings, "crypto.randomUUID", "crypto.getRandomValues"]) },
];

/** Has `generateId`, which workflows may also call themselves: then its value is theirs. */
const helpers = /^@ai-sdk\/provider-utils$/;

/** True for a read that a known package does for itself. */
export function isKnownRead(name: AmbientName, error: Error): boolean {
  const frames = framesOf(error);
  const [first] = frames;
  if (first === undefined) return false;
  const { names } = known.find(({ of }) => of.test(packageIn(first))) ?? {};
  if (names === undefined || !names.has(name)) return false;
  const caller = frames.find((frame) => !helpers.test(packageIn(frame)));
  return caller === undefined || known.some(({ of }) => of.test(packageIn(caller)));
}

/** The package of a frame; empty for files of the program itself. */
function packageIn({ file }: Frame): string {
  return /[/\\]node_modules[/\\]/.test(file) ? packageOf(file).replaceAll("\\", "/") : "";
}
