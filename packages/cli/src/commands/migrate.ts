/** `durable migrate`: brings the tables of a Postgres database up to date, with the role that owns them. */

import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { load, placeOf, postgresOf } from "../store.ts";

interface Migration {
  readonly from: number;
  readonly to: number;
  readonly statements: readonly string[];
}

interface Migrates {
  readonly PostgresStorage: {
    migrate(
      options: { readonly url: string; readonly schema?: string },
      given: { readonly grantTo: readonly string[]; readonly dryRun: boolean },
    ): Promise<Migration>;
  };
}

export const migrate: Command = {
  usage: "<postgres://owner@host/database> [--grant-to role] [--dry-run]",
  summary: "Makes the tables of a Postgres database, or brings them up to date",
  arguments: [1, 1],
  examples: [
    "durable migrate postgres://owner@host/runs --dry-run",
    "durable migrate postgres://owner@host/runs --grant-to app",
  ],
  options: {
    "grant-to": {
      type: "string",
      multiple: true,
      value: "role",
      help: "a role of an application, which may use the tables afterwards",
    },
    "dry-run": { type: "boolean", help: "only print the statements" },
  },
  more: [
    "Run it before a new version of your application starts, which has `migrate: false`.",
    "Processes that run go on meanwhile. One that was interrupted goes on where it stopped.",
  ],
  run: async ({ args: [url = ""], flags, streams, answer }) => {
    const place = placeOf(url, streams);
    if (place.kind !== "postgres")
      throw new CliError("Only Postgres has migrations: name a postgres:// URL.");
    const { PostgresStorage } = await load<Migrates>(
      "@durable/postgres",
      "@durable/postgres pg",
      streams.cwd,
    );
    const dryRun = flags.on("dry-run");
    const grantTo = flags.list("grant-to");
    const { from, to, statements } = await PostgresStorage.migrate(postgresOf(url), { grantTo, dryRun });
    const changes =
      from === to ? `has version ${to}` : from === 0 ? `version ${to}` : `version ${from} to ${to}`;
    answer({
      json: { store: place.label, dryRun, from, to, statements },
      text: dryRun
        ? [...statements, `-- Nothing was changed: ${place.label}, ${changes}`]
        : [`${place.label}: ${changes}`, ...grantTo.map((role) => `${role} may use it`)],
    });
    return exit.ok;
  },
};
