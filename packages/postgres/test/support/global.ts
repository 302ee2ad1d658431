/** Starts one Postgres for all test files that ask for it with `inject("postgres")`. */

import type { TestProject } from "vitest/node";
import { startPostgres } from "./server.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide("postgres", server.url);
  return () => server.stop();
}
