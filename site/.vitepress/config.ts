/** The site: the pages of docs/ with a table of contents, local search, and a policy that allows nothing from elsewhere. */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig } from "vitepress";
import { slug } from "../../scripts/lib/markdown.ts";
import { contents, questions } from "../../scripts/lib/site-pages.ts";
import { mended } from "./mended.ts";

const groups = contents();
const asked = questions();

const sidebar: DefaultTheme.SidebarItem[] = [
  ...groups.map(({ title, pages }) => ({
    text: title,
    collapsed: !["Start", "Write workflows"].includes(title),
    items: pages.map(({ text, link }) => ({ text, link })),
  })),
  {
    text: "More",
    collapsed: true,
    items: [
      { text: "Comparison", link: "/comparison" },
      { text: "Benchmarks", link: "/benchmarks" },
      { text: "Errors", link: "/errors" },
      { text: "Security", link: "/security" },
      { text: "Decisions", link: "/decisions/" },
      { text: "Changelog", link: "/changelog" },
    ],
  },
];

/** Pages for people who change the library: not found by the search. */
const inside = /^(?:decisions|internals)\/|^(?:changelog|releasing|docs|index|playground|embed)\.md$/;

export default defineConfig({
  title: "durable",
  description:
    "Durable multi-step LLM programs: every step is recorded, so a run can stop anywhere and continue elsewhere.",
  srcDir: ".pages",
  outDir: "dist",
  cleanUrls: true,
  metaChunk: true,
  lastUpdated: false,
  head: [["link", { rel: "icon", href: "/mark.svg", type: "image/svg+xml" }]],
  markdown: {
    anchor: { slugify: slug },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // The empty corner of a table is the header of nothing.
    config: (md) => {
      md.core.ruler.push("corners", ({ tokens }) => {
        for (const [n, token] of tokens.entries()) {
          const [content, end] = [tokens[n + 1], tokens[n + 2]];
          if (token.type === "th_open" && content?.content === "" && end !== undefined)
            [token.tag, end.tag] = ["td", "td"];
        }
      });
    },
  },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start/first-workflow" },
      { text: "Playground", link: "/playground" },
      { text: "Guides", link: "/docs" },
      { text: "Concepts", link: "/concepts/" },
      { text: "Reference", link: "/reference/" },
      { text: "Comparison", link: "/comparison" },
    ],
    sidebar: Object.fromEntries(["/playground", "/"].map((path) => [path, path === "/" ? sidebar : []])),
    outline: { level: [2, 3] },
    externalLinkIcon: true,
    socialLinks: [
      {
        icon: { svg: repositoryIcon() },
        link: "https://github.com/durable-workflow/durable",
        ariaLabel: "The repository",
      },
    ],
    search: {
      provider: "local",
      options: {
        detailedView: false,
        // The question that a page answers stands in its title, for the search and in its results.
        _render: (source, env, md) => {
          const page: string = env.relativePath;
          if (inside.test(page)) return "";
          const html = md.render(source, env);
          const question = asked.get(`/${page.replace(/\.md$/, "")}`);
          return question === undefined
            ? html
            : html.replace(/(<h1[^>]*>[^<]*)/, `$1: ${md.utils.escapeHtml(question)} `);
        },
      },
    },
  },
  // Metadata of the site stands in a file, so each page has the same two inline scripts. They are allowed by their hashes.
  transformHtml: (html) =>
    html.replace(
      "<head>",
      `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy(html)}">`,
    ),
  vite: {
    resolve: {
      conditions: ["durable-source"],
      // The theme takes its index from here: see theme/search.ts.
      alias: [
        { find: /^minisearch$/, replacement: fileURLToPath(new URL("theme/search.ts", import.meta.url)) },
      ],
    },
    plugins: [mended],
    build: { chunkSizeWarningLimit: 4_000, target: "es2023" },
    worker: { format: "es" },
    publicDir: fileURLToPath(new URL("../public", import.meta.url)),
    server: { fs: { allow: [fileURLToPath(new URL("../..", import.meta.url))] } },
    logLevel: "warn",
  },
});

/**
 * Nothing from elsewhere, and no connection at all: pages, scripts and the index of the search are files of the site. The
 * worker of the playground is made from a blob, so it inherits this policy, and a program in it reaches no network.
 */
function policy(html: string): string {
  const scripts = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(
    ([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
  );
  return [
    "default-src 'self'",
    `script-src 'self' blob: ${scripts.join(" ")}`.trim(),
    "worker-src blob:",
    "connect-src 'none'",
    // The colours of code blocks, and the sheets of the editor, are styles in the page.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function repositoryIcon(): string {
  return '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true"><circle cx="6" cy="5" r="2.5"/><circle cx="6" cy="19" r="2.5"/><circle cx="18" cy="9" r="2.5"/><path d="M6 7.5v9M18 11.5c0 4-6 3-11 6"/></svg>';
}
