/** The text of the search box, and the filters it stands for. */

import type { RunStatus } from "@durable/core";

export interface Filters {
  readonly status: string;
  readonly workflow: string;
  readonly text: string;
  readonly parent: string;
}

const names = ["status", "workflow", "parent"] as const;

/** What people say for the status that the library calls suspended. */
const synonyms: Readonly<Record<string, RunStatus>> = {
  waiting: "suspended",
  sleeping: "suspended",
  done: "completed",
};

/** `status:failed workflow:loan some text` */
export function readSearch(search: string): Filters {
  const filters = { status: "", workflow: "", parent: "", text: "" };
  const words = search.split(/\s+/).filter((word) => word !== "");
  const rest = words.filter((word) => {
    const [name = "", ...value] = word.split(":");
    const known = names.find((each) => each === name);
    if (known === undefined) return true;
    filters[known] = value.join(":");
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
