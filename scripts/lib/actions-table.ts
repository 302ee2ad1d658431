/** The table of docs/security.md: every route and tool, the action that it asks for, and what the action names. */
import { routes as httpRoutes, type Route } from "@durable/http/kit";
import { chatRoutes } from "../../packages/ai-sdk/src/chat/routes.ts";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import { actions } from "../../packages/cli/src/mcp/writers.ts";
import { routes as dashboardRoutes } from "../../packages/dashboard/src/dashboard.ts";

const opening = "<!-- actions: written by npm run docs:reference -->\n";
const closing = "<!-- end of actions -->";

type Table = readonly (readonly [
  path: string,
  methods: Readonly<Record<string, Pick<Route, "asks" | "late" | "also">>>,
])[];

const code = (text: string): string => `\`${text}\``;

function routeRows(surface: string, at: string, table: Table): string[] {
  return table.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { asks, late = [], also = [] }]) => {
      const inPath = [...path.matchAll(/\{(runId|topic|schedule|workflow)\}/g)].map(([, name = ""]) => name);
      const names = new Set([...(asks?.change === undefined ? [] : ["change"]), ...inPath, ...late]);
      const asked = asks === null ? "none: the token decides" : code(asks.type);
      const besides = also.map((type) => `, ${code(type)}`).join("");
      const carried = asks === null ? "" : [...names].map(code).join(", ");
      return `| ${surface} | ${code(`${method} ${at}${path}`)} | ${asked}${besides} | ${carried} |`;
    }),
  );
}

/** Two actions in a row: the second is asked besides the first, for some requests or for each row of the answer. */
export function actionsTable(): string {
  const tools = toolsOf({} as Parameters<typeof toolsOf>[0], new Set(actions), () => 0);
  return [
    "| Surface | Route or tool | Actions | The action names |",
    "|---|---|---|---|",
    ...routeRows("HTTP", "/", httpRoutes),
    ...routeRows("Dashboard", "/api/", dashboardRoutes),
    ...chatRoutes.map(
      ({ method, path, asks, names }) =>
        `| Chat | ${code(`${method} {api}${path}`)} | ${code(asks)} | ${names.map(code).join(", ")} |`,
    ),
    ...tools.map(({ name, asks, readOnly }) => {
      const edits =
        name === "fork_run" ? ", `resume` for edits that answer, `send` for edits that are messages" : "";
      return `| MCP | ${code(name)} | ${code(asks)}${edits} | ${readOnly ? "always allowed" : `\`--allow ${asks}\``} |`;
    }),
    "",
  ].join("\n");
}

/** The page with the table of today. */
export function withActions(page: string): string {
  const from = page.indexOf(opening);
  const to = page.indexOf(closing);
  if (from === -1 || to === -1) throw new Error("docs/security.md has no place for the table of actions");
  return `${page.slice(0, from + opening.length)}\n${actionsTable()}\n${page.slice(to)}`;
}
