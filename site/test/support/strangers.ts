import { expect, test } from "vitest";
import { Player } from "./player.ts";
import type { SiteVisit } from "./site.ts";

const hostile = `import { durable } from "@durable/core";
export default durable("hostile", async (ctx) => {
  const tried: string[] = await ctx.step("try", async () => {
    const said: string[] = [];
    const attempt = async (name: string, work: () => unknown) => {
      try { await work(); said.push(name + " worked"); } catch { said.push(name + " refused"); }
    };
    await attempt("fetch", () => fetch("https://example.org/?secret"));
    await attempt("fetch-site", () => fetch("/"));
    await attempt("import", () => import("https://example.org/x.js"));
    await attempt("eval", () => (0, eval)("1"));
    await attempt("socket", () => new Promise((ok, no) => { const s = new WebSocket("wss://example.org"); s.onopen = ok; s.onerror = no; }));
    await attempt("module", () => require("node:fs"));
    return said;
  });
  return "<img src=x onerror=alert(1)> " + tried.join(", ");
});
`;

/** What the policy of the page says about each try. The module is refused by the playground. */
const refusals = [
  /connect.*https:\/\/example\.org\/\?secret/i,
  /connect.*http:\/\/localhost/i,
  /(?:load|script).*https:\/\/example\.org\/x\.js/i,
  /eval/i,
  /connect.*wss:\/\/example\.org/i,
];

/** A program of a stranger, as a link may carry it. */
export function strangerTests(site: () => SiteVisit): void {
  test("a program reaches no network, and its values are texts", async () => {
    const errors: string[] = [];
    const player = await Player.open(
      await site().page({}, errors),
      `${site().url}playground?program=story`,
      false,
    );
    await player.write(() => hostile);
    await player.press("Run");
    expect(await player.finish()).toBe("completed");
    const said = await player.said();
    for (const name of ["fetch", "fetch-site", "import", "eval", "socket", "module"])
      expect(said).toContain(`${name} refused`);
    expect(said).not.toContain("worked");
    expect(said).toContain("<img src=x onerror=alert(1)>");
    expect(await player.page.locator(".pg-journal img").count()).toBe(0);
    // Each refusal is one of the policy, for one of these tries, and the page has no other error.
    expect(errors.filter((error) => !refusals.some((one) => one.test(error)))).toEqual([]);
    for (const error of errors) expect(error).toMatch(/Content Security Policy/);
    await player.page.context().close();
  });
}
