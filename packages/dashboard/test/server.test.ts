/** What the routes say about journals that the examples made. */

import { MemoryStorage } from "@durable/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Counts, DiffPage, EntryPage, RunList, RunPage, StepDetail, Tree } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { createJournals, type Journals, prices } from "./support/journals.ts";

let journals: Journals;
let site: Site;

beforeAll(async () => {
  journals = await createJournals(new MemoryStorage(), { pace: 0, coding: false });
  site = new Site({ app: journals.app, prices });
});
afterAll(() => journals.close());

const idsOf = ({ runs }: RunList): string[] => runs.map(({ runId }) => runId);

/** All pages of a list. */
async function all(query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: RunList = await site.get(`runs?${query}&cursor=${encodeURIComponent(cursor)}`);
    ids.push(...idsOf(page));
    cursor = page.next;
  }
  return ids;
}

describe("the list", () => {
  test("begins with the newest, and contains every run once, whatever the size of a page", async () => {
    const { runs } = await site.get<RunList>("runs");
    const times = runs.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted((x, y) => y - x));
    const whole = runs.map(({ runId }) => runId);
    for (const limit of [1, 2, 5]) expect(await all(`limit=${limit}`), `limit ${limit}`).toEqual(whole);
    for (const sort of ["took", "cost", "steps"]) {
      const sorted = await all(`limit=5&sort=${sort}`);
      expect(sorted.toSorted()).toEqual(whole.toSorted());
    }
    const byCost = await site.get<RunList>("runs?sort=cost&workflow=research-brief,loan-underwriting");
    const costs = byCost.runs.map(({ cost }) => cost ?? 0);
    expect(costs).toEqual(costs.toSorted((x, y) => y - x));
    expect(costs[0]).toBeGreaterThan(0);
    expect((await site.fetch("/api/runs?sort=colour")).status).toBe(400);
  });

  test("filters by status, workflow, parent and text", async () => {
    expect(await all("status=failed")).toEqual(["ingest-1"]);
    expect(await all("status=cancelled,failed")).toEqual(["brief-0", "ingest-1"]);
    expect((await all("workflow=research-brief")).toSorted()).toEqual(["brief-0", "brief-1"]);
    expect((await all("parent=loan-7")).toSorted()).toEqual(["loan-7-again", "loan-7-cautious"]);
    expect(await all("text=CAUTIOUS%20policy")).toEqual(["loan-7-cautious"]);
    expect(await all("text=nothing")).toEqual([]);
    expect(await all("tag=customer%3D42")).toEqual(["order-42"]);
    expect(await all("tag=customer%3D42,%22team%3Dharbour, north%22&status=suspended")).toEqual(["order-42"]);
    expect(await all("tag=customer%3D43")).toEqual([]);
    expect((await site.fetch("/api/runs?tag=customer")).status).toBe(400);
    expect((await site.fetch("/api/runs?since=yesterday")).status).toBe(400);
    expect((await site.fetch("/api/runs?status=lost")).status).toBe(400);
    expect((await site.fetch("/api/runs?cursor=9-x")).status).toBe(400);
  });

  test("says how many there are, and tells forks from children", async () => {
    const counts = await site.get<Counts>("counts");
    expect(counts.failed).toEqual({ count: 1, more: false });
    expect(counts.suspended.count).toBe(5);
    const { runs } = await site.get<RunList>("runs");
    const kind = (fits: (run: (typeof runs)[number]) => boolean) =>
      runs.filter(fits).map(({ isFork }) => isFork);
    expect(kind(({ parent }) => parent === "loan-7")).toEqual([true, true]);
    expect(kind(({ parent }) => parent === "publish-1")).toEqual([false]);
  });

  test("says of each run what its line shows, from its head", async () => {
    const { runs } = await site.get<RunList>("runs");
    const of = (id: string) => runs.find(({ runId }) => runId === id);
    expect(of("ingest-1")).toMatchObject({
      error: { key: "embed", message: "Error: The provider answered with 429" },
    });
    expect(of("brief-1")).toMatchObject({ tokens: 9_000, waits: { question: "Publish this brief?" } });
    expect(of("brief-1")?.cost).toBeCloseTo((7_300 * 3 + 1_700 * 15) / 1e6, 9);
    expect(of("letter-46")?.wakeAt).toBeGreaterThan(Date.now());
    expect(of("order-42")?.tags).toEqual({ customer: "42", team: "harbour, north" });
  });
});

describe("a run", () => {
  test("has rows without values, and values on demand", async () => {
    const run = await site.get<RunPage>("runs/brief-1");
    expect(run).toMatchObject({
      status: "suspended",
      workflow: "research-brief",
      hasCode: true,
      input: "tides",
    });
    expect(run.rows.map(({ name }) => name)).toContain("draft");
    expect(JSON.stringify(run.rows)).not.toContain("Cite sources");
    expect(run.totals.spent.cost).toBeCloseTo((7_300 * 3 + 1_700 * 15) / 1e6, 9);
    const draft = await site.get<StepDetail>("runs/brief-1/step?key=draft");
    expect(JSON.stringify(draft.value)).toContain("Cite sources");
    expect(draft.lossy).toBe(false);
    expect(run.waits).toMatchObject([
      { key: "approve", answered: false, note: { question: "Publish this brief?" } },
    ]);
    // No token leaves the server.
    expect(JSON.stringify(run)).not.toMatch(/[a-z2-7]{55}/);
  });

  test("shows attempts with their errors and causes", async () => {
    const run = await site.get<RunPage>("runs/ingest-1");
    const embed = run.rows.find(({ key }) => key === "embed");
    expect(embed?.attempts.map(({ failed }) => failed)).toEqual(
      Array(3).fill("The provider answered with 429"),
    );
    const { attempts, error } = await site.get<StepDetail>("runs/ingest-1/step?key=embed");
    expect(attempts).toHaveLength(3);
    expect(error).toMatchObject({
      message: "The provider answered with 429",
      cause: { message: "rate limit of 60 requests a minute" },
    });
  });

  test("that is blocked says why, and one that is unknown is not found", async () => {
    const run = await site.get<RunPage>("runs/deploy-42");
    expect(run).toMatchObject({ status: "blocked", hasCode: false, blocked: { code: "diverged" } });
    expect((await site.fetch("/api/runs/nothing")).status).toBe(404);
    expect((await site.fetch("/api/runs/brief-1/step?key=nothing")).status).toBe(404);
  });

  test("has its journal a page at a time", async () => {
    const first = await site.get<EntryPage>("runs/loan-7-cautious/journal?limit=5");
    const second = await site.get<EntryPage>("runs/loan-7-cautious/journal?limit=5&offset=5");
    expect(first.entries).toHaveLength(5);
    expect(first.total).toBe(second.total);
    expect(second.entries[0]?.seq).toBeGreaterThan(first.entries[4]?.seq ?? 0);
    expect(first.entries[0]).toMatchObject({ inherited: true, kind: "parallel.opened", key: "parallel" });
  });
});

test("the tree has every fork below its parent, from whichever run it is asked", async () => {
  for (const id of ["loan-7", "loan-7-cautious", "loan-7-again"]) {
    const { nodes, more } = await site.get<Tree>(`runs/${id}/tree`);
    expect(nodes[0]).toMatchObject({ runId: "loan-7", parent: null, isFork: false });
    expect(nodes.slice(1).map(({ runId, parent }) => [runId, parent])).toEqual([
      ["loan-7-cautious", "loan-7"],
      ["loan-7-again", "loan-7"],
    ]);
    expect(nodes[1]).toMatchObject({ at: ["decide"], label: "cautious policy" });
    expect(more).toBe(false);
  }
});

test("the difference of two runs is per call", async () => {
  const page = await site.get<DiffPage>("diff?before=loan-7&after=loan-7-cautious");
  const changed = page.calls.filter(({ equal }) => !equal);
  expect(changed.map(({ key, change }) => [key, change])).toEqual([["decide", "re-run"]]);
  expect(page.end.equal).toBe(false);
  expect(page.after).toEqual({ runId: "loan-7-cautious", label: "cautious policy" });
});
