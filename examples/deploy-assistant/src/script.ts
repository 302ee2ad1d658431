/** The offline model: a plan for the release and environment that were named last. */

import type { Script } from "example-llm";
import type { Release } from "./catalogue.ts";

const isFirst = (version: string): boolean => version.endsWith(".0.0");

export function scriptFor(releases: readonly Release[]): Script {
  const all = releases.map(({ version }) => version);
  return (prompt) => {
    const said = prompt.flatMap((message) =>
      message.role === "user" ? message.content.map((part) => (part.type === "text" ? part.text : "")) : [],
    );
    const named = said.flatMap((text) => {
      const newest = /\b(?:latest|newest)\b/i.test(text) ? all.slice(-1) : [];
      return text.match(/\b\d+\.\d+\.\d+\b/g) ?? newest;
    });
    const places = said.flatMap(
      (text) => text.match(/\b(?:staging|production|preview-[a-z0-9-]+)\b/gi) ?? [],
    );
    const environment = places.at(-1)?.toLowerCase().slice(0, 39).replace(/-$/, "") ?? "staging";
    // If none was named, the newest that is not the first of its line.
    const version = named.at(-1) ?? all.findLast((one) => !isFirst(one)) ?? all.at(-1) ?? "";
    const release = releases.find((one) => one.version === version);
    const unknown = `I know of no release ${version}. There are ${all.join(", ")}: which is it to be?`;
    const who =
      named.length === 0 ? "You named no release. I" : said.length > 1 ? "Changed as you asked: I" : "I";
    const risks = environment === "production" ? ["Everybody sees it at once."] : [];
    if (isFirst(version)) risks.push("A first release of its line: little is known of it.");
    const answer = {
      message: release
        ? `${who} would put tide-board ${version} on ${environment}. ${release.notes}`
        : unknown,
      version: release ? version : null,
      environment,
      risks,
    };
    return { text: JSON.stringify(answer) };
  };
}
