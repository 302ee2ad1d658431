/** The site as it is published: built from the sources, served as files, and used in a browser that reaches nothing else. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { skipReason } from "../../packages/dashboard/test/support/chromium.ts";
import { editingTests } from "./support/editing.ts";
import { everyProgramTests } from "./support/every-program.ts";
import { lookTests } from "./support/looks.ts";
import { fileTests, pageTests } from "./support/pages.ts";
import { playgroundTests } from "./support/plays.ts";
import { buildSite, SiteVisit } from "./support/site.ts";
import { strangerTests } from "./support/strangers.ts";

beforeAll(buildSite, 900_000);

describe("the files of the site", fileTests);

describe.skipIf(skipReason !== null)("the site in Chromium", () => {
  let site: SiteVisit;

  beforeAll(async () => {
    site = await SiteVisit.open();
  });
  afterAll(() => site?.close());

  pageTests(() => site);
  everyProgramTests(() => site);
  playgroundTests(() => site);
  editingTests(() => site);
  strangerTests(() => site);
  lookTests(() => site);

  test("nothing left the site, and no page had an error", () => {
    expect(site.strangers).toEqual([]);
    expect(site.errors).toEqual([]);
  });
});
