/** What the offline model says: a plan from the release and the environment that were named last. */

import type { Script } from "example-llm";
import type { Release } from "./catalogue.ts";

export function scriptFor(releases: readonly Release[]): Script {
  return (prompt) => {
    const said = prompt.flatMap((message) =>
      message.role === "user" ? message.content.map((part) => (part.type === "text" ? part.text : "")) : [],
    );
    const named = said.flatMap((text) => text.match(/\b\d+\.\d+\.\d+\b/g) ?? []).at(-1);
    const newest = said.some((text) => /\b(?:latest|newest)\b/i.test(text)) ? releases.at(-1)?.version : null;
    const version = named ?? newest ?? null;
    const places = said.flatMap(
      (text) => text.match(/\b(?:staging|production|preview-[a-z0-9-]+)\b/gi) ?? [],
    );
    const environment = places.at(-1)?.toLowerCase().slice(0, 39).replace(/-$/, "") ?? "staging";
    return { text: JSON.stringify(answerFor({ version, environment }, releases, said.length)) };
  };
}

interface Named {
  readonly version: string | null;
  readonly environment: string;
}

function answerFor({ version, environment }: Named, releases: readonly Release[], turn: number): object {
  const release = releases.find((one) => one.version === version);
  const versions = releases.map((one) => one.version).join(", ");
  if (release === undefined) {
    const message =
      version === null
        ? `Which release is it to be? There are ${versions}.`
        : `I know of no release ${version}. There are ${versions}: which is it to be?`;
    return { message, version: null, environment, risks: [] };
  }
  const again = turn > 1 ? "Changed as you asked: I" : "I";
  return {
    message: `${again} would put tide-board ${release.version} on ${environment}. ${release.notes}`,
    version: release.version,
    environment,
    risks: [
      ...(environment === "production" ? ["Everybody sees it at once."] : []),
      ...(release.version.endsWith(".0.0") ? ["A first release of its line: little is known of it."] : []),
    ],
  };
}
