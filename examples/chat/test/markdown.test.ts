/** Markdown in the page: what it looks like, and that nothing which a model writes becomes part of the page. */

import { createElement, type FunctionComponent } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

/** The page has the types of a browser, which tests do not have. */
const from = async <Props extends object>(file: string, name: string): Promise<FunctionComponent<Props>> => {
  const module = (await import(new URL(`../page/markdown/${file}`, import.meta.url).href)) as object;
  return (module as Record<string, FunctionComponent<Props>>)[name] as FunctionComponent<Props>;
};
const Markdown = await from<{ text: string }>("markdown.tsx", "Markdown");
const SafeLink = await from<{ url: string; children: string }>("inline.tsx", "SafeLink");

const html = (text: string): string => renderToStaticMarkup(createElement(Markdown, { text }));
const link = (url: string, text: string): string =>
  `<a href="${url}" target="_blank" rel="noopener noreferrer nofollow">${text}</a>`;

test.each([
  ["plain text\non two lines", "<p>plain text\non two lines</p>"],
  ["one\n\ntwo", "<p>one</p><p>two</p>"],
  ["# Tides #", "<h3>Tides</h3>"],
  ["#### Small", "<h4>Small</h4>"],
  [
    "**bold** and *leaning* and ~~gone~~",
    "<p><strong>bold</strong> and <em>leaning</em> and <del>gone</del></p>",
  ],
  ["**bold with *both* in it**", "<p><strong>bold with <em>both</em> in it</strong></p>"],
  ["snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"],
  ["`a < b` and ``a ` b``", "<p><code>a &lt; b</code> and <code>a ` b</code></p>"],
  ["\\*not\\*", "<p>*not*</p>"],
  ["[NOAA](https://example.org/a)", `<p>${link("https://example.org/a", "NOAA")}</p>`],
  ["See https://example.org/a.", `<p>See ${link("https://example.org/a", "https://example.org/a")}.</p>`],
  [
    "- one\n- two\n  - deeper\n- three",
    "<ul><li>one</li><li><p>two</p><ul><li>deeper</li></ul></li><li>three</li></ul>",
  ],
  ["3. three\n4. four", '<ol start="3"><li>three</li><li>four</li></ol>'],
  ["> said\n> so", "<blockquote><p>said\nso</p></blockquote>"],
  ["before\n\n---\nafter", "<p>before</p><hr/><p>after</p>"],
  ["**open", "<p>**open</p>"],
])("%j", (text, expected) => {
  expect(html(text)).toBe(expected);
});

test("a table, also with rows that are too short or too long", () => {
  const table = html("| When | Height |\n|---|--:|\n| 06:40 |\n| 19:05 | 3.1 m | more |\n\nafter");
  expect(table.replaceAll(/<\/?(?:div|table|thead|tbody)[^>]*>/g, "")).toBe(
    "<tr><th>When</th><th>Height</th></tr><tr><td>06:40</td><td></td></tr><tr><td>19:05</td><td>3.1 m</td></tr><p>after</p>",
  );
});

test("code keeps its text, has colours, and is code before its fence is closed", () => {
  const code = 'const a = "<b>"; // **not bold**\nif (a) return 42;\n\n# no comment';
  for (const text of [`\`\`\`ts\n${code}\n\`\`\`\nafter`, `\`\`\`ts\n${code}`]) {
    const out = html(text);
    const inner = /<code>([\s\S]*)<\/code>/.exec(out)?.[1] ?? "";
    expect(inner.replaceAll(/<\/?span[^>]*>/g, "")).toBe(
      code.replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
    );
    for (const kind of ["keyword", "string", "comment", "number"]) expect(inner).toContain(`tok-${kind}`);
    expect(inner).not.toContain('tok-comment"># no');
  }
  expect(html("~~~py\n# a comment\n~~~")).toContain('<span class="tok-comment"># a comment</span>');
});

const payloads = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\nscript:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:x)",
  "[x](file:///etc/passwd)",
  "[x](//evil.example)",
  "[x](javascript&colon;alert(1))",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/track.png)",
  '[x](https://a.example/"onmouseover="alert(1))',
  "<https://a.example/><svg onload=alert(1)>",
  "`<script>`",
  "```html\n<script>alert(1)</script>\n```",
  '```"><img/src=x/onerror=alert(1)>\ncode\n```',
  "| <b onclick=alert(1)> |\n|---|\n| <iframe src=javascript:alert(1)> |",
  "# <style>*{display:none}</style>",
  "> - <a href=javascript:alert(1)>x</a>",
  "**<script>**alert(1)**</script>**",
];

test.each(payloads)("does no harm: %j", (text) => {
  const out = html(text);
  const tags = [...out.matchAll(/<\/?([a-z][a-z0-9]*)([^>]*)>/gi)];
  const known =
    "p h3 h4 ul ol li a code pre span strong em del blockquote hr table thead tbody tr th td div figure figcaption button";
  for (const [, name = "", attributes = ""] of tags) {
    expect(known.split(" ")).toContain(name);
    const names = [...attributes.matchAll(/([a-z-]+)="/g)].map(([, one]) => one ?? "");
    expect("href target rel class start type".split(" ")).toEqual(expect.arrayContaining(names));
  }
  for (const [, href = ""] of out.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^(?:https?|mailto):/);
});

test("links of sources are links of the web, or text", () => {
  const shown = (url: string): string =>
    renderToStaticMarkup(createElement(SafeLink, { url, children: "x" }));
  expect(shown("javascript:alert(1)")).toBe("<span>x</span>");
  expect(shown(" javascript:alert(1)")).toBe("<span>x</span>");
  expect(shown("https://example.org")).toContain('href="https://example.org"');
});

test("a text of any shape takes no long time", () => {
  const began = process.threadCpuUsage();
  for (const text of [
    "*".repeat(9_900),
    "[".repeat(9_900),
    "`a".repeat(4_900),
    "> ".repeat(5_000),
    "- ".repeat(5_000),
    "_a ".repeat(3_200),
    "**a".repeat(3_200),
    "|".repeat(9_900),
  ])
    html(text);
  expect(process.threadCpuUsage(began).user).toBeLessThan(5_000_000);
});
