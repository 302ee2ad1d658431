/**
 * The script of the offline model: a plan for the release and environment that were named last. If no release
 * was named, it takes the newest that is not the first of its line.
 */

import type { Script } from "example-llm";
import type { Release } from "./catalogue.ts";

export function scriptFor(releases: readonly Release[]): Script {
  return (prompt) => {
    const said = prompt.flatMap((message) =>
      message.role === "user" ? message.content.map((part) => (part.type === "text" ? part.text : "")) : [],
    );
    const named = said.map((text) => versionIn(text, releases)).findLast((version) => version !== null);
    const settled = releases.findLast((release) => !isFirst(release)) ?? releases.at(-1);
    const version = named ?? settled?.version ?? null;
    const chosen = named === undefined;
    const places = said.flatMap(
      (text) => text.match(/\b(?:staging|production|preview-[a-z0-9-]+)\b/gi) ?? [],
    );
    const environment = places.at(-1)?.toLowerCase().slice(0, 39).replace(/-$/, "") ?? "staging";
    return { text: JSON.stringify(answerFor({ version, environment, chosen }, releases, said.length)) };
  };
}

interface Named {
  readonly version: string | null;
  readonly environment: string;
  /** True when no release was named. */
  readonly chosen: boolean;
}

/** The last release that a text names. */
function versionIn(text: string, releases: readonly Release[]): string | null {
  const newest = /\b(?:latest|newest)\b/i.test(text) ? releases.at(-1)?.version : undefined;
  return text.match(/\b\d+\.\d+\.\d+\b/g)?.at(-1) ?? newest ?? null;
}

function isFirst({ version }: Release): boolean {
  return version.endsWith(".0.0");
}

function answerFor(
  { version, environment, chosen }: Named,
  releases: readonly Release[],
  turn: number,
): object {
  const release = releases.find((one) => one.version === version);
  const versions = releases.map((one) => one.version).join(", ");
  if (release === undefined) {
    const message =
      version === null
        ? `Which release is it to be? There are ${versions}.`
        : `I know of no release ${version}. There are ${versions}: which is it to be?`;
    return { message, version: null, environment, risks: [] };
  }
  const again = chosen ? "You named no release. I" : turn > 1 ? "Changed as you asked: I" : "I";
  return {
    message: `${again} would put tide-board ${release.version} on ${environment}. ${release.notes}`,
    version: release.version,
    environment,
    risks: [
      ...(environment === "production" ? ["Everybody sees it at once."] : []),
      ...(isFirst(release) ? ["A first release of its line: little is known of it."] : []),
    ],
  };
}
