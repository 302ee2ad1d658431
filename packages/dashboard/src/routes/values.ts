/** One call, and large values in parts: a page of one, places of words, and all of it as a file. Proven in test/parts.test.ts. */

import { DurableError } from "@durable/core";
import { type Plain, type RowView, type RunView, underWay, viewRun } from "@durable/core/inspect";
import { HttpError } from "@durable/http";
import { type Call, json } from "@durable/http/kit";
import type { StepDetail, ValueField, ValueHits, ValuePart } from "../api.ts";
import type { Service } from "../options.ts";
import { cutLarge, findWords, pageOfPart } from "../parts.ts";
import { Room } from "../text.ts";
import { numberIn } from "./request.ts";
import { chapterIn, chunksOf, detailOf, shownRows } from "./run.ts";

export async function stepDetail(service: Service, { runId, url }: Call): Promise<Response> {
  const key = url.searchParams.get("key") ?? "";
  const entries = await service.app.get(runId).entries({ chapter: chapterIn(url), struck: true });
  const find = (view: RunView): RowView | undefined => shownRows(view).find((each) => each.key === key);
  // Of a call that is under way there may be no record yet.
  const doing = async (): Promise<RunView> =>
    viewRun(entries, { doing: (await underWay(service.app)).get(runId) });
  const row = find(viewRun(entries)) ?? find(await doing());
  if (row === undefined)
    throw new DurableError("unknown-step", `Run ${runId} has no record of "${key}" in this chapter.`);
  const detail = detailOf(row, entries, { prices: service.prices, room: new Room(largest) });
  return json(200, cutDetail(detail));
}

/** Sends only a part of a large value; the rest is read by its path. */
function cutDetail(detail: StepDetail): StepDetail {
  const { value, chunks, ...others } = detail;
  if (chunks !== undefined) {
    const small = cutLarge([...chunks]);
    return { ...others, chunks: small.value as readonly Plain[], cuts: small.cuts };
  }
  if (value === undefined) return detail;
  const small = cutLarge(value);
  return { ...others, value: small.value, cuts: small.cuts };
}

/** Of one value in parts, in characters. */
const largest = 32 * 1024 * 1024;
const fields: readonly ValueField[] = ["value", "chunks", "error", "note", "input", "output", "report"];

/** A part of a recorded value, places of words in it, or all of it as a file. */
export async function valueParts(service: Service, { runId, url }: Call): Promise<Response> {
  const value = await valueOf(service, runId, url);
  const words = url.searchParams.get("find") ?? "";
  if (words !== "") return json(200, findWords(value, words) satisfies ValueHits);
  if (url.searchParams.get("download") === "1")
    return new Response(JSON.stringify(value, null, 2), {
      // Never shown under the origin of the dashboard: it is saved.
      headers: {
        "content-type": "application/octet-stream",
        "content-disposition": 'attachment; filename="value.json"',
      },
    });
  const path = url.searchParams.get("path") ?? "";
  const offset = numberIn(url, "offset", { min: 0, max: Number.MAX_SAFE_INTEGER, or: 0 });
  const part = pageOfPart(value, path, offset);
  if (part === undefined) throw new HttpError("invalid-query", `There is nothing at the path "${path}".`);
  return json(200, part satisfies ValuePart);
}

async function valueOf(service: Service, runId: string, url: URL): Promise<Plain> {
  const field = fields.find((each) => each === url.searchParams.get("field"));
  if (field === undefined)
    throw new HttpError("invalid-query", `"field" must be one of ${fields.join(", ")}.`);
  const key = url.searchParams.get("key") ?? "";
  const entries = await service.app.get(runId).entries({ chapter: chapterIn(url), struck: true });
  const view = viewRun(entries);
  const room = new Room(largest);
  const row = key === "" ? view : shownRows(view).find((each) => each.key === key);
  if (row === undefined)
    throw new DurableError("unknown-step", `Run ${runId} has no record of "${key}" in this chapter.`);
  if (field === "chunks" && "seq" in row)
    return chunksOf(row, entries).map((chunk) => room.show(chunk, Infinity));
  if (!(field in row)) throw new HttpError("invalid-query", `There is no ${field} here.`);
  return room.show((row as unknown as Readonly<Record<string, unknown>>)[field], Infinity);
}
