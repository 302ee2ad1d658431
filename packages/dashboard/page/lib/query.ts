/** The text of the search box, and the filters it stands for. */

import type { RunStatus } from "@durable/core";

export interface Filters {
  readonly status: string;
  readonly workflow: string;
  readonly text: string;
  readonly parent: string;
  /** `customer=42,team=red`: each name and value encoded, because they may have commas and spaces. */
  readonly tag: string;
}

const names = ["status", "workflow", "parent", "tag"] as const;

/** A tag as the address and the search box have it. */
export const tagText = (name: string, value: string): string =>
  `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

/** What people say for the status that the library calls suspended. */
const synonyms: Readonly<Record<string, RunStatus>> = {
  waiting: "suspended",
  sleeping: "suspended",
  done: "completed",
};

/** `status:failed workflow:loan tag:customer=42 some text`; a `tag` may be given again. */
export function readSearch(search: string): Filters {
  const filters = { status: "", workflow: "", parent: "", tag: "", text: "" };
  const words = search.split(/\s+/).filter((word) => word !== "");
  const rest = words.filter((word) => {
    const [name = "", ...value] = word.split(":");
    const known = names.find((each) => each === name);
    if (known === undefined) return true;
    const given = value.join(":");
    filters[known] = known === "tag" && filters.tag !== "" ? `${filters.tag},${given}` : given;
    return false;
  });
  const status = filters.status
    .split(",")
    .map((each) => synonyms[each] ?? each)
    .join(",");
  return { ...filters, status, text: rest.join(" ") };
}

export function searchOf(filters: Filters): string {
  const parts = names.filter((name) => filters[name] !== "").map((name) => `${name}:${filters[name]}`);
  return [...parts, ...(filters.text === "" ? [] : [filters.text])].join(" ");
}
