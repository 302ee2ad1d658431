/**
 * Workflows on Postgres whose appends are cut at random. Every step must run once and be recorded once, whatever became of
 * the appends (law 8).
 */

import { durable, DurableError, type Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { PostgresStorage } from "../../src/index.ts";
import { cuttingProxy, type Cut } from "./proxy.ts";

export interface AmbiguousReport {
  /** Appends whose outcome was unknown. */
  readonly unknown: number;
  /** Of these, those that had landed, and those that had not. */
  readonly landed: number;
  readonly missed: number;
  readonly runs: number;
  readonly steps: number;
  /** Steps that ran more than once, or whose entry is there more than once. */
  readonly doubled: number;
  /** Steps that were seen and are not in the journal. */
  readonly lost: number;
  readonly unfinished: number;
}

export interface AmbiguousOptions {
  readonly url: string;
  readonly schema: string;
  /** How many appends are cut. */
  readonly cuts: number;
  readonly random?: () => number;
  readonly progress?: (unknown: number) => void;
}

const stepsPerRun = 10;
const runsAtOnce = 8;

export async function cutAppends(options: AmbiguousOptions): Promise<AmbiguousReport> {
  const { url, schema, cuts, random = Math.random } = options;
  await PostgresStorage.migrate({ url, schema });
  const proxy = await cuttingProxy(url);
  const direct = new PostgresStorage({ url, schema, listen: false });
  const through = new PostgresStorage({ url: proxy.url, schema, listen: false, connections: runsAtOnce });
  const report = { unknown: 0, landed: 0, missed: 0, runs: 0, steps: 0, doubled: 0, lost: 0, unfinished: 0 };
  const ran = new Map<string, number>();
  const flow = durable(
    "cut",
    async (ctx, input: { id: string }) => {
      const seen: string[] = [];
      for (let n = 0; n < stepsPerRun; n++)
        seen.push(
          await ctx.step(`step ${n}`, () => {
            const key = `${input.id} ${n}`;
            ran.set(key, (ran.get(key) ?? 0) + 1);
            return key;
          }),
        );
      return seen;
    },
    {
      storage: watched(through, async (request, error) => {
        if (!DurableError.is(error, "storage-busy")) return;
        await proxy.settled();
        const { batches } = await direct.read(request.locator, request.position);
        report.unknown += 1;
        report[batches[0] === request.batch ? "landed" : "missed"] += 1;
        options.progress?.(report.unknown);
      }),
      secret: "a secret for tests",
    },
  );
  const plan = { left: cuts };
  const kinds: readonly Cut[] = ["request", "reply", "backend"];
  proxy.plan = () => {
    if (plan.left === 0 || random() > 0.3) return null;
    plan.left -= 1;
    return kinds[Math.floor(random() * kinds.length)] ?? null;
  };
  const one = async (): Promise<void> => {
    while (plan.left > 0) {
      const id = `run-${(report.runs += 1)}`;
      const outcome = await flow.run({ id }, { id });
      if (outcome.status !== "completed") report.unfinished += 1;
      await check(id);
    }
  };
  const check = async (id: string): Promise<void> => {
    const entries = await flow.with({ storage: direct }).get(id).entries();
    for (let n = 0; n < stepsPerRun; n++) {
      const found = entries.filter((entry) => entry.kind === "step.completed" && entry.key === `step ${n}`);
      report.steps += 1;
      if (found.length === 0) report.lost += 1;
      if (found.length > 1 || ran.get(`${id} ${n}`) !== 1) report.doubled += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: runsAtOnce }, one));
    return report;
  } finally {
    await through.close();
    await direct.close();
    await proxy.close();
  }
}

/** A storage that tells of appends that fail. */
function watched(
  storage: PostgresStorage,
  failed: (request: AppendRequest, error: unknown) => Promise<void>,
): Storage {
  return new Proxy(storage, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name !== "append") return typeof member === "function" ? member.bind(target) : member;
      return async (request: AppendRequest): Promise<void> => {
        try {
          await target.append(request);
        } catch (error) {
          await failed(request, error);
          throw error;
        }
      };
    },
  });
}
