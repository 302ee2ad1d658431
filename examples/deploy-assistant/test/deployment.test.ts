import { mkdtempSync, readdirSync, readFileSync, rmSync, lutimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bundleFolder } from "../src/config.ts";
import { Site, versionOf } from "../src/deployment.ts";
import { isEnvironment, readReleases } from "../src/catalogue.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const open = (): { site: Site; folder: string } => {
  const folder = mkdtempSync(join(tmpdir(), "deploy-site-"));
  folders.push(folder);
  return { site: new Site(folder, bundleFolder), folder };
};
const { signal } = new AbortController();

test("D1 D2 every part may run twice, and leaves no halves", () => {
  const { site, folder } = open();
  expect(site.live("staging")).toBeNull();
  const name = site.copy("staging", "1.1.0", "k3vqxxxxxxxx");
  expect(site.copy("staging", "1.1.0", "k3vqxxxxxxxx")).toBe(name);
  expect(versionOf(name)).toBe("1.1.0");
  site.point("staging", name);
  site.point("staging", name);
  expect(site.live("staging")).toBe(name);
  const current = join(folder, "staging", "current");
  expect(JSON.parse(readFileSync(join(current, "release.json"), "utf8"))).toMatchObject({ version: "1.1.0" });
  site.point("staging", null);
  site.point("staging", null);
  expect(site.live("staging")).toBeNull();
  expect(readdirSync(join(folder, "staging"))).toEqual(["releases"]);
  expect(readdirSync(join(folder, "staging", "releases"))).toEqual([name]);
});

test("D3 a turn is one run's, again and again, until it is given back or left behind", () => {
  const { site, folder } = open();
  expect(site.takeTurn("staging", "run-a")).toBe(true);
  expect(site.takeTurn("staging", "run-a")).toBe(true);
  expect(site.takeTurn("staging", "run-b")).toBe(false);
  expect(site.takeTurn("production", "run-b")).toBe(true);
  site.giveTurn("staging", "run-b");
  expect(site.takeTurn("staging", "run-b")).toBe(false);
  site.giveTurn("staging", "run-a");
  site.giveTurn("staging", "run-a");
  expect(site.takeTurn("staging", "run-b")).toBe(true);
  const longAgo = new Date(Date.now() - 3_600_000);
  lutimesSync(join(folder, "staging", "turn"), longAgo, longAgo);
  expect(site.takeTurn("staging", "run-c")).toBe(false);
  expect(site.takeTurn("staging", "run-c")).toBe(true);
});

test("the health check is a request to the release, started for it", async () => {
  const { site } = open();
  const check = async (version: string, asked = version): Promise<unknown> => {
    site.point("staging", site.copy("staging", version, "k".repeat(8)));
    return site.check("staging", asked, signal);
  };
  expect(await check("1.1.0")).toEqual({ healthy: true, detail: "200 from /health, version 1.1.0" });
  expect(await check("1.1.0", "1.0.0")).toMatchObject({ healthy: false });
  expect(await check("2.0.0")).toEqual({
    healthy: false,
    detail: "503 from /health, the tide table is missing",
  });
  expect(await site.check("nowhere", "1.1.0", signal)).toEqual({
    healthy: false,
    detail: "it did not start",
  });
});

test("a plan names what is listed, and nothing that leads elsewhere", () => {
  expect(readReleases(bundleFolder).map(({ version }) => version)).toEqual(["1.0.0", "1.1.0", "2.0.0"]);
  for (const name of ["staging", "production", "preview-x", "preview-a-1"])
    expect(isEnvironment(name), name).toBe(true);
  for (const name of [
    "",
    "..",
    "staging/..",
    "preview-",
    "preview-/../x",
    "preview-X",
    "Staging",
    `preview-${"x".repeat(40)}`,
    "staging\n",
  ])
    expect(isEnvironment(name), name).toBe(false);
});
