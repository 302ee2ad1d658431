/**
 * The head of the home screen: what happened lately, and all that needs somebody. Proven in test/home.test.ts.
 *
 * overview.1. No journal is read. Sums come from the runs of the time alone, and are made at most once in five seconds.
 * overview.2. Sums are one action. Replies that name single runs, or show their texts, leave out those that may not be read.
 */

import type { ListedRun } from "@durable/core";
import { type FailureGroup, fleetOf, listedRuns, pulseOf, type Pulse } from "@durable/core/inspect";
import { type Call, json, mayDo, readable } from "@durable/http/kit";
import type { Attention, BlockedGroup, DueWork, Expiring, FailedGroup, PulseReply } from "../api.ts";
import type { Service } from "../options.ts";
import { failuresOf, idOf, ofGroup, rangeIn, ranges } from "./failures.ts";
import { countsOf, openRuns, soonMs } from "./inbox.ts";

const keptMs = 5_000;
const mostGroups = 6;
const mostBlocked = 100;
/** A run that is due for a shorter time is about to be taken. */
const patientMs = 60_000;

interface Kept {
  readonly at: number;
  readonly pulse: Promise<Pulse | null>;
}

const kept = new WeakMap<Service, Map<string, Kept>>();

/** The same sums for all pages that ask at about the same time. */
export async function pulse(service: Service, call: Call): Promise<Response> {
  const { app, prices } = service;
  const now = app.world.now();
  const range = rangeIn(call, now);
  const all = kept.get(service) ?? new Map<string, Kept>();
  kept.set(service, all);
  const name = call.url.searchParams.get("range") ?? "24h";
  let one = all.get(name);
  if (one === undefined || now - one.at > keptMs) {
    one = { at: now, pulse: pulseOf(app, { ...range, prices }) };
    all.set(name, one);
    // A failure is not kept.
    one.pulse.catch(() => all.delete(name));
  }
  const found = await one.pulse;
  const { ms } = ranges[name] as { ms: number };
  return json(200, { pulse: found, since: one.at - ms, until: one.at } satisfies PulseReply);
}

/** All that needs somebody: failures by their kind, blocked runs, open waits, and work that nobody takes. */
export async function attention(service: Service, call: Call): Promise<Response> {
  const { app } = service;
  const { request, url } = call;
  const now = app.world.now();
  const range = { ...rangeIn(call, now), prices: service.prices };
  const [failures, blocked, open, due] = await Promise.all([
    failuresOf(service, request, range),
    blockedOf(service, request),
    openRuns(service, request),
    mayDo(service, request, { type: "overview" }).then((may) => (may ? dueOf(service, now) : null)),
  ]);
  const asked = url.searchParams.get("group");
  const groups = asked === null ? (failures?.slice(0, mostGroups) ?? null) : ofGroup(failures, asked);
  const expiring = open.heads.flatMap(({ runId, waits }): Expiring[] => {
    const expiresAt = waits?.expiresAt ?? null;
    return expiresAt === null ? [] : [{ runId, question: waits?.question ?? "", expiresAt }];
  });
  const other = open.heads.find(({ waits }) => (waits?.expiresAt ?? Infinity) > now + soonMs);
  return json(200, {
    failures:
      groups === null ? null : await Promise.all(groups.map((one) => withMessage(service, one, asked))),
    moreFailures: asked === null ? Math.max(0, (failures?.length ?? 0) - mostGroups) : 0,
    blocked,
    waits: {
      ...countsOf(open, now),
      first: expiring.find(({ expiresAt }) => expiresAt <= now) ?? null,
      next: expiring.find(({ expiresAt }) => expiresAt > now) ?? null,
      other: other === undefined ? null : { runId: other.runId, question: other.waits?.question ?? "" },
    },
    due,
    now,
  } satisfies Attention);
}

/** The message may be sealed, so it is that of one run as lists show it. Only a group that is asked for names its runs. */
async function withMessage(
  { app }: Service,
  group: FailureGroup,
  asked: string | null,
): Promise<FailedGroup> {
  const { runs, ...rest } = group;
  const [sample] = await listedRuns(app, runs.slice(0, 1));
  return {
    ...rest,
    id: idOf(group),
    message: sample?.error?.message ?? "",
    ...(asked !== null && { runs }),
  };
}

async function blockedOf(service: Service, request: Request): Promise<BlockedGroup[]> {
  const { runs } = await service.app.list({ status: "blocked", limit: mostBlocked });
  const heads = await readable(service, request, runs);
  const groups = Map.groupBy(heads, ({ workflow, blocked }: ListedRun) => `${workflow} ${blocked?.code}`);
  return [...groups].map(([id, [first, ...others]]): BlockedGroup => {
    const { workflow, runId, blocked, version } = first as ListedRun;
    return {
      id,
      workflow,
      count: 1 + others.length,
      runId,
      code: blocked?.code ?? "",
      message: blocked?.message ?? "",
      since: Math.max(...[first as ListedRun, ...others].map((head) => head.blocked?.since ?? 0)),
      ...(version !== undefined && { version }),
    };
  });
}

/** Work that is due and that no worker has taken for a while; that of paused workflows is meant to wait. */
async function dueOf({ app }: Service, now: number): Promise<DueWork[]> {
  const { load, workers } = await fleetOf(app);
  return load
    .filter(({ due, paused, dueSince }) => due > 0 && !paused && now - (dueSince ?? now) > patientMs)
    .map(({ workflow, due, dueSince }) => ({
      workflow,
      due,
      since: dueSince ?? now,
      hasWorker:
        workers === null
          ? null
          : workers.some(({ workflows, silent }) => !silent && workflows.includes(workflow)),
    }))
    .toSorted((a, b) => a.since - b.since);
}
