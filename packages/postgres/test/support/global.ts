/** Starts one Postgres for all test files that ask for it with `inject("postgres")`. */

import type { TestProject } from "vitest/node";
import { startPostgres, type PostgresServer } from "./server.ts";

let server: PostgresServer | null = null;

export async function setup(project: TestProject): Promise<void> {
  server = await startPostgres();
  project.provide("postgres", server.url);
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
