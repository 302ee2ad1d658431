/**
 * A run as one HTML file: the page of the dashboard with the data inside. It opens without a server and sends nothing.
 *
 * export.1. The file allows exactly its own script and style, by their hashes, and no connection.
 * export.2. The data is JSON in which no character can end the element that holds it.
 * export.3. Redaction is on unless it is turned off.
 * export.4. The values of a file have a bound together, and others get their turn while it is made.
 *
 * Proven in test/export.test.ts.
 */

import { page } from "#page";
import { type App, DurableError } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { type Plain, promptsIn, viewRun } from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import type { Call } from "@durable/http/kit";
import type { JournalEntry, RunPage, StepDetail } from "../api.ts";
import { type Service, serviceOf } from "../options.ts";
import { baseOf, detailOf, journalEntry, pageOf, shownRows } from "../routes/run.ts";
import { Room } from "../text.ts";
import { redact } from "./redact.ts";

/** Options of `exportRun`. */
export interface ExportOptions {
  /** False keeps everything. True by default: what looks like a secret or an e-mail address is hidden. */
  readonly redact?: boolean | undefined;
  /** Names of fields whose values are hidden as well. */
  readonly hide?: readonly string[] | undefined;
  readonly prices?: Prices | undefined;
}

/** What the page finds in the file. */
export interface Exported {
  readonly run: RunPage;
  readonly steps: Readonly<Record<string, StepDetail>>;
  readonly journal: readonly JournalEntry[];
  readonly redacted: boolean;
  readonly exportedAt: number;
}

/** A larger journal is better shared as JSON. */
const mostEntries = 20_000;

/** A run of an app as the text of one HTML file, which opens offline. The code of its workflow is not needed. */
export async function exportRun(app: App, runId: string, options: ExportOptions = {}): Promise<string> {
  const service = serviceOf({ app, prices: options.prices, authorize: () => false });
  return fileOf(service, runId, { redact: options.redact !== false, hide: options.hide ?? [] });
}

export async function exportRoute(service: Service, { request, runId, url }: Call): Promise<Response> {
  const asked = url.searchParams.get("redact") ?? "1";
  if (asked !== "0" && asked !== "1") throw new HttpError("invalid-query", `"redact" must be 0 or 1.`);
  const html = await fileOf(service, runId, { redact: asked === "1", hide: [], request });
  return new Response(html, {
    headers: {
      // Never shown under the origin of the dashboard: it is saved.
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${runId}.html"`,
    },
  });
}

async function fileOf(
  service: Service,
  runId: string,
  options: { readonly redact: boolean; readonly hide: readonly string[]; readonly request?: Request },
): Promise<string> {
  const entries = await service.app.get(runId).entries({ struck: true });
  if (entries.length > mostEntries)
    throw new DurableError(
      "limit",
      `Run ${runId} has ${entries.length} entries. A file holds at most ${mostEntries}; export it as JSON.`,
    );
  const rows = shownRows(viewRun(entries));
  const base = baseOf(entries);
  // Of its own for each part, so that large steps leave the journal its room.
  const [ofRun, ofSteps, ofPrompts, ofJournal] = [new Room(), new Room(), new Room(), new Room()];
  const prompts = promptsIn(entries);
  // Everything passes through JSON here, so what is redacted is exactly what is written.
  const written = async <T extends object>(part: T): Promise<T> => {
    const data = JSON.parse(JSON.stringify(part)) as Plain;
    await turn();
    return (options.redact ? redact(data, options.hide) : data) as unknown as T;
  };
  const shown = await pageOf(service, runId, { request: options.request, room: ofRun });
  // The first words are cut, and a secret that is cut is not known as one.
  const worded = options.redact
    ? { ...shown, rows: shown.rows.map(({ words: _words, ...row }) => row) }
    : shown;
  const run = await written(worded);
  const steps: [string, StepDetail][] = [];
  for (const row of rows) {
    const detail = detailOf(row, entries, {
      prices: service.prices,
      room: ofSteps,
      asked: ofPrompts,
      prompts,
    });
    // Under its name, by which it may be hidden.
    steps.push(...Object.entries(await written({ [row.key]: detail })));
  }
  const journal: JournalEntry[] = [];
  for (const entry of entries) journal.push(await written(journalEntry(entry, base, ofJournal)));
  return html({
    run,
    steps: Object.fromEntries(steps),
    journal,
    redacted: options.redact,
    exportedAt: service.app.world.now(),
  });
}

/** How long a process works on a file before others get their turn, in milliseconds. */
const turnMs = 20;
let since = 0;

async function turn(): Promise<void> {
  if (performance.now() - since < turnMs) return;
  await new Promise((resolve) => setTimeout(resolve, 0));
  since = performance.now();
}

async function html(data: Exported): Promise<string> {
  const { script, style } = await page();
  // A script ends at the first "</script", wherever it is.
  const code = script.replaceAll("</script", "<\\/script");
  const policy = [
    "default-src 'none'",
    `script-src '${await hashOf(code)}'`,
    `style-src '${await hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escaped(`${data.run.workflow} ${data.run.runId}`)}</title>
<style>${style}</style>
</head>
<body><div id="app"></div>
<script type="application/json" id="durable-run">${jsonText(data)}</script>
<script type="module">${code}</script>
</body>
</html>
`;
}

async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(hash)))}`;
}

function jsonText(data: Exported): string {
  const codes: Readonly<Record<string, string>> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" };
  return JSON.stringify(data).replaceAll(
    /[<>&\u2028\u2029]/g,
    (char) => codes[char] ?? `\\u${char.charCodeAt(0).toString(16)}`,
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
