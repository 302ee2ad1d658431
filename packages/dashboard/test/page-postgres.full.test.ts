/** The page in a real browser, on Postgres. */

import { inject } from "vitest";
import { openSchema } from "../../postgres/test/support/open.ts";
import { pageSuite } from "./support/page-suite.ts";

pageSuite("postgres", () => Promise.resolve(openSchema(inject("postgres")).open()));
