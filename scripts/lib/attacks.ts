/**
 * The attacks that `npm run soak:attack` runs. To add one, add a row: a name, a count that takes about a minute, and a
 * function that tries that often and returns what it reached. The function is in the tests of a package, where a test
 * runs it with a small count.
 */
import {
  attackBodies,
  attackOrigins,
  attackWebhooks,
  type Tried,
} from "../../packages/http/test/support/random-attacks.ts";
import { hostileEdits } from "../../packages/core/test/journal/support/hostile-edits.ts";
import { editRows, type Stage } from "../../packages/core/test/journal/support/row-edits.ts";
import { bucketStage, sqliteStage } from "../../packages/core/test/journal/support/row-stages.ts";
import { forge } from "../../packages/http/test/support/forgery.ts";
import { attackTenant } from "../../packages/http/test/support/tenants.ts";
import { postgresStage } from "../../packages/postgres/test/support/row-stage.ts";
import { startPostgres } from "../../packages/postgres/test/support/server.ts";
import { attackTwoTenants } from "./two-tenants.ts";

export interface Attack {
  readonly name: string;
  /** What is attacked, for the list of attacks. */
  readonly about: string;
  /** How many attempts by default. */
  readonly count: number;
  readonly run: (options: { readonly count: number; readonly seed: number }) => Promise<Tried>;
}

export const attacks: readonly Attack[] = [
  {
    name: "journals",
    about: "edits of sealed journals by somebody who can write to the storage",
    count: 100_000,
    run: async ({ count, seed }) => {
      const { accepted, ...ends } = await hostileEdits(count, seed);
      return { tried: count, ends, problems: accepted };
    },
  },
  {
    name: "rows",
    about: "edits of rows and objects beside sealed journals, such as heads, keys and schedules",
    count: 10_000,
    run: editEverywhere,
  },
  {
    name: "tokens",
    about: "forged and altered resume tokens",
    count: 200_000,
    run: async ({ count, seed }) => {
      const { tried, accepted } = await forge({ forged: count, real: 20, seed });
      return { tried, ends: { unknown: tried - accepted.length }, problems: accepted };
    },
  },
  {
    name: "tenant",
    about: "sequences of requests by a tenant that wants to reach another one's runs",
    count: 4_000,
    run: async ({ count, seed }) => {
      const { sequences, statuses, problems } = await attackTenant({ sequences: count, seed });
      return { tried: sequences, ends: statuses, problems };
    },
  },
  {
    name: "two-tenants",
    about: "sequences of a hostile tenant over every route of HTTP and dashboard, and every tool of MCP",
    count: 5_000,
    run: attackTwoTenants,
  },
  {
    name: "bodies",
    about: "JSON bodies of many, deep or long values",
    count: 5_000,
    run: attackBodies,
  },
  {
    name: "origins",
    about: "requests of pages of other origins",
    count: 50_000,
    run: attackOrigins,
  },
  {
    name: "webhooks",
    about: "signed messages that are cut at another place",
    count: 50_000,
    run: attackWebhooks,
  },
];

/** On each storage a part of the edits. */
async function editEverywhere({ count, seed }: { count: number; seed: number }): Promise<Tried> {
  const server = await startPostgres();
  try {
    const postgres = (): Stage => postgresStage(server.url, "attacked");
    const ends: Record<string, number> = {};
    const problems: string[] = [];
    let tried = 0;
    for (const [name, stage, share] of [
      ["sqlite", sqliteStage, 0.4],
      ["bucket", bucketStage, 0.35],
      ["postgres", postgres, 0.25],
    ] as const) {
      const done = await editRows(stage(), { count: Math.ceil(count * share), seed });
      tried += done.tried;
      for (const [end, times] of Object.entries(done.ends)) ends[`${name} ${end}`] = times;
      problems.push(...done.problems.map((problem) => `${name}: ${problem}`));
    }
    return { tried, ends, problems };
  } finally {
    await server.stop();
  }
}
