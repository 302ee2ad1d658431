/** Failures of a time by their kind: those that the head of the page counts, and the runs of one of them. */

import { failedDuring, type FailureGroup, failureGroups, type PulseOptions } from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import { type Call, readable } from "@durable/http/kit";
import type { Service } from "../options.ts";

const hour = 3_600_000;
/** The length of each range, and in how many parts it is drawn. */
export const ranges: Readonly<Record<string, { readonly ms: number; readonly parts: number }>> = {
  "1h": { ms: hour, parts: 30 },
  "24h": { ms: 24 * hour, parts: 48 },
  "7d": { ms: 168 * hour, parts: 56 },
};

export function rangeIn({ url }: Pick<Call, "url">, now: number): PulseOptions {
  const name = url.searchParams.get("range") ?? "24h";
  const range = Object.hasOwn(ranges, name) ? ranges[name] : undefined;
  if (range === undefined)
    throw new HttpError("invalid-query", `"range" must be one of ${Object.keys(ranges).join(", ")}.`);
  return { since: now - range.ms, until: now, parts: range.parts };
}

export async function failuresOf(
  service: Service,
  request: Request,
  range: PulseOptions,
): Promise<FailureGroup[] | null> {
  const failed = await failedDuring(service.app, range);
  return failed === null ? null : failureGroups(await readable(service, request, failed), range);
}

/** The runs of one kind of failure, as the head of the page counts them; `null` where the list is not about one. */
export async function failedAlike(
  service: Service,
  call: Pick<Call, "request" | "url">,
): Promise<readonly string[] | null> {
  const asked = call.url.searchParams.get("failure") ?? "";
  if (asked === "") return null;
  const groups = await failuresOf(service, call.request, rangeIn(call, service.app.world.now()));
  return ofGroup(groups, asked)?.[0]?.runs ?? [];
}

export const ofGroup = (groups: readonly FailureGroup[] | null, asked: string): FailureGroup[] | null =>
  groups?.filter(({ workflow, group }) => idOf({ workflow, group }) === asked) ?? null;

export const idOf = ({ workflow, group }: Pick<FailureGroup, "workflow" | "group">): string =>
  `${workflow} ${group}`;
