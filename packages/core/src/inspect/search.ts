/**
 * How people search runs, on the page, in the command line and over MCP: `status:failed tag:customer=42 since:1d cost>0.5 words`.
 *
 * search.1. A part that is not understood is a problem that is said, and never taken for a word. A text in quotes is always a word.
 * search.2. `query` is what a storage finds by its indexes. `fits` judges all terms, so it also holds on a storage that finds
 *     nothing.
 * search.3. Values of a field are alternatives, separated by commas; tags and words must all be there.
 * search.4. With encryption, words find no values: messages of errors and questions are left out, also for a reader with the key.
 */

import type { ListQuery, RunHead, RunStatus } from "../ports/storage.ts";
import type { RunStateName } from "../journal/run-state.ts";
import { toMs, type Duration } from "../values/duration.ts";
import type { Prices } from "../values/usage.ts";
import { spendOf } from "./spend.ts";
import { locatorOfTrace } from "./trace.ts";

/** What can be searched for besides words. */
export const searchFields = [
  "status",
  "waiting",
  "workflow",
  "parent",
  "label",
  "tag",
  "version",
  "since",
  "until",
  "error",
  "cost",
  "score",
  "model",
  "step",
  "q",
] as const;
/** One of `searchFields`. */
export type SearchField = (typeof searchFields)[number];

/** The terms of a search: of each field its values as they were typed, separated by commas; `text` are words. */
export type SearchTerms = Readonly<Partial<Record<SearchField | "text", string>>>;

const statuses: readonly RunStatus[] = [
  "running",
  "suspended",
  "paused",
  "blocked",
  "completed",
  "failed",
  "cancelled",
];
/** Words for the state of a run, which is narrower than its status. */
const states = ["queued", "waiting", "sleeping", "open", "cancelling", "failing"];
/** All words for the status of a run. */
export const searchStatuses: readonly string[] = [...statuses, ...states];
const synonyms: Readonly<Record<string, string>> = { done: "completed" };

const usage =
  "Use status: waiting:yes workflow: tag:name=value version: since:1d until:2026-11-17 error: cost>0.5 score:helpful<1 model: step: label: parent: q: or words.";

/** Splits at separators outside of quotes. */
function split(text: string, separator: RegExp): string[] {
  const parts: string[] = [];
  let [part, quoted] = ["", false];
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    if (!quoted && separator.test(character)) {
      parts.push(part);
      part = "";
    } else part += character;
  }
  return [...parts, part].filter((each) => each !== "");
}

const bare = (text: string): string => text.replaceAll('"', "");

/** A value as a search has it: in quotes where it has spaces, commas or colons. */
export function searchValue(text: string): string {
  const clean = bare(text);
  return /[\s,:]/.test(clean) || clean === "" ? `"${clean}"` : clean;
}

/** The terms of a text, and what of it was not understood. */
export function readSearch(text: string): {
  readonly terms: SearchTerms;
  readonly problems: readonly string[];
} {
  const terms: Partial<Record<SearchField | "text", string>> = {};
  const problems: string[] = [];
  const words: string[] = [];
  for (const part of split(text, /\s/)) {
    const [, name = "", value = ""] = /^([a-z]+)(?::|(?=[<>]))(.*)$/is.exec(part) ?? [];
    const field = searchFields.find((each) => each === name.toLowerCase());
    if (name === "") words.push(part);
    else if (field === undefined)
      problems.push(`"${part}" is not a filter. ${usage} To search the text, write it in quotes.`);
    else if (value === "") problems.push(`"${part}" lacks a value.`);
    else terms[field] = terms[field] === undefined ? value : `${terms[field]},${value}`;
  }
  if (words.length > 0) terms.text = words.join(" ");
  return { terms, problems };
}

/** The text of these terms. */
export function searchText(terms: SearchTerms): string {
  const parts = searchFields.flatMap((field) => {
    const value = terms[field] ?? "";
    return value === "" ? [] : [`${field}${field === "cost" ? "" : ":"}${value}`];
  });
  return [...parts, ...(terms.text ? [terms.text] : [])].join(" ");
}

/** A run, with the word for what it does where that is known. */
type SearchedRun = RunHead & { readonly state?: RunStateName };

/** What a search asks of a storage, and of each run. */
export interface RunSearch {
  /** Without a status: a storage takes one at a time. */
  readonly query: ListQuery;
  /** The statuses of the runs that may fit; empty for all. */
  readonly statuses: readonly RunStatus[];
  readonly fits: (head: SearchedRun) => boolean;
  /** True when many runs may be read for one that fits. */
  readonly scans: boolean;
  readonly problems: readonly string[];
}

/** What a search needs to know. */
export interface SearchContext {
  /** The present time: lengths of time count back from it. */
  readonly now: number;
  /** Prices usage that was recorded without a cost. */
  readonly prices?: Prices | undefined;
  /** False for a storage that does not `find`: it is then asked for less. */
  readonly finds?: boolean | undefined;
  /** Days begin in UTC; otherwise in the zone of this process. */
  readonly utc?: boolean | undefined;
  /** True where values are encrypted: words are then searched in ids, names, labels and tags alone, as `isEncrypted` tells. */
  readonly encrypted?: boolean | undefined;
}

/** What a storage finds by its indexes, and whether a run of that fits all terms. */
export function runSearch(terms: SearchTerms, context: SearchContext): RunSearch {
  const problems: string[] = [];
  const problem = (text: string): void => void problems.push(text);
  const listOf = (field: SearchField): string[] => split(terms[field] ?? "", /,/).map(bare);
  const status = statusOf(listOf("status"), problem);
  const waiting = waitingOf(listOf("waiting"), problem);
  const tags = tagsOf(listOf("tag"), problem);
  const [createdAfter, createdBefore] = timesOf(terms, context, problem);
  const [workflow, version, parent, label, model, step] = (
    ["workflow", "version", "parent", "label", "model", "step"] as const
  ).map(listOf);
  const cost = costOf(listOf("cost"), problem);
  const scores = scoresOf(listOf("score"), problem);
  const errors = listOf("error").map(lower);
  const words = split(terms.text ?? "", /\s/).map((word) => lower(bare(word)));
  // A trace id names its run.
  const traces = words.map(locatorOfTrace);
  const q = bare(terms.q ?? "");
  const found = {
    waiting,
    tags,
    version: some(version),
    createdAfter,
    createdBefore,
    q: q === "" ? undefined : q,
  };
  return {
    query: { workflow: some(workflow), parent: some(parent), ...(context.finds === false ? {} : found) },
    statuses: status.pushed,
    scans:
      [terms.text, terms.error, terms.cost, terms.score, terms.label, terms.model, terms.step].some(
        Boolean,
      ) ||
      status.isWider ||
      (waiting === true && context.finds === false),
    problems,
    fits: (head) =>
      status.fits(head) &&
      (waiting === undefined || head.waits !== undefined) &&
      isOneOf(workflow, head.workflow) &&
      isOneOf(version, head.version) &&
      isOneOf(label, head.label ?? undefined) &&
      isOneOf(parent, head.parent ?? undefined) &&
      isUsed(head, model, step) &&
      [head.runId, head.label ?? "", ...Object.values(head.tags ?? {})].some((text) => text.startsWith(q)) &&
      Object.entries(tags ?? {}).every(([name, value]) => head.tags?.[name] === value) &&
      head.createdAt >= (createdAfter ?? -Infinity) &&
      head.createdAt < (createdBefore ?? Infinity) &&
      (errors.length === 0 || errors.some((text) => lower(errorText(head)).includes(text))) &&
      cost.every((fits) => fits(costIn(head, context.prices))) &&
      scores.every(({ name, fits }) => fits(head.scores?.[name])) &&
      words.every(
        (word, i) =>
          traces[i] === head.locator || textsOf(head, context).some((text) => lower(text).includes(word)),
      ),
  };
}

const lower = (text: string): string => text.toLowerCase();
const some = (values: readonly string[] = []): readonly string[] | undefined =>
  values.length === 0 ? undefined : values;
const isOneOf = (values: readonly string[] = [], value: string | undefined): boolean =>
  values.length === 0 || (value !== undefined && values.includes(value));

/** Usage of a model, for a step, agent or tool: also what a fork inherited. */
function isUsed(
  { usage = [], inherited = [] }: RunHead,
  models: readonly string[] = [],
  steps: readonly string[] = [],
): boolean {
  if (models.length + steps.length === 0) return true;
  return [...usage, ...inherited].some(({ model, label }) => isOneOf(models, model) && isOneOf(steps, label));
}

type Say = (problem: string) => void;

function statusOf(
  given: readonly string[],
  problem: Say,
): {
  readonly pushed: readonly RunStatus[];
  /** Runs of the pushed statuses, or of all, are read for some that fit. */
  readonly isWider: boolean;
  readonly fits: (head: SearchedRun) => boolean;
} {
  const asked = given.map((name) => synonyms[name] ?? name);
  for (const name of asked)
    if (!searchStatuses.includes(name))
      problem(`"${name}" is not a status. Use ${statuses.join(", ")}; or ${states.join(", ")}.`);
  const pushed = statuses.filter((status) => asked.includes(status));
  // What a run does does not tell its status, so all are read.
  return {
    pushed: pushed.length === asked.length ? pushed : [],
    isWider: pushed.length !== asked.length,
    // An open journal has the status of a run that is driven, and is `open`.
    fits: ({ status, state }) =>
      asked.length === 0 ||
      (state !== "open" && pushed.includes(status)) ||
      (state !== undefined && asked.includes(state)),
  };
}

function timesOf(terms: SearchTerms, context: SearchContext, problem: Say): (number | undefined)[] {
  return (["since", "until"] as const).map((field) => {
    const text = bare(terms[field] ?? "");
    if (text === "") return undefined;
    const time = searchTime(text, field, context);
    if (time === null)
      problem(`${field}:${text} is no time. Use 30m, 6h, 7d, 2026-11-17 or 2026-11-17T10:00.`);
    return time ?? undefined;
  });
}

function waitingOf(given: readonly string[], problem: Say): true | undefined {
  if (given.length === 0) return undefined;
  if (given.join(",") !== "yes")
    problem(`waiting:${given.join(",")} is not a filter. Write waiting:yes for runs with an open wait.`);
  return true;
}

function tagsOf(given: readonly string[], problem: Say): Readonly<Record<string, string>> | undefined {
  const pairs = given.flatMap((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [[name, value] as const];
    problem(`"${text}" is not a tag. Write tag:name=value.`);
    return [];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

const dayMs = 86_400_000;

/** The time that `since` or `until` names; `null` for none. `until` a day is until its end. */
export function searchTime(
  text: string,
  field: "since" | "until",
  { now, utc = false }: Pick<SearchContext, "now" | "utc">,
): number | null {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) {
    const day = new Date(utc ? `${text}T00:00:00Z` : `${text}T00:00:00`);
    if (field === "until" && utc) return isTime(day.getTime() + dayMs);
    // In some zones a day has 23 or 25 hours.
    if (field === "until") day.setDate(day.getDate() + 1);
    return isTime(day.getTime());
  }
  if (/^\d{4}-\d\d-\d\dT/.test(text))
    return isTime(Date.parse(utc && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(text) ? `${text}Z` : text));
  try {
    return /[a-z]/i.test(text) ? now - toMs(text as Duration) : null;
  } catch {
    return null;
  }
}

const isTime = (time: number): number | null => (Number.isNaN(time) ? null : time);

function costOf(given: readonly string[], problem: Say): ((cost: number | null) => boolean)[] {
  return given.flatMap((text) => {
    const [, sign = ">=", amount] = /^(>=|<=|>|<)?\$?(\d+(?:\.\d+)?)$/.exec(text) ?? [];
    if (amount === undefined) {
      problem(`cost${text} is no amount. Write cost>0.5 or cost<0.5.`);
      return [];
    }
    return [(cost) => cost !== null && compares(cost, sign, Number(amount))];
  });
}

/** `helpful<1`, `helpful=0`, or `helpful` alone for any value. */
function scoresOf(
  given: readonly string[],
  problem: Say,
): { readonly name: string; readonly fits: (value: number | undefined) => boolean }[] {
  return given.flatMap((text) => {
    const [, name, sign, amount = "0"] = /^([\w.:/-]+?)(?:(>=|<=|>|<|=)(-?\d+(?:\.\d+)?))?$/.exec(text) ?? [];
    if (name === undefined) {
      problem(`score:${text} is no score. Write score:helpful<1, score:helpful=1 or score:helpful.`);
      return [];
    }
    const fits = (value: number | undefined): boolean =>
      value !== undefined && (sign === undefined || compares(value, sign, Number(amount)));
    return [{ name, fits }];
  });
}

function compares(value: number, sign: string, limit: number): boolean {
  if (sign === "<") return value < limit;
  if (sign === "<=") return value <= limit;
  if (sign === "=") return value === limit;
  return sign === ">" ? value > limit : value >= limit;
}

/** What a run cost by itself, as its head says; `null` where that is not known. */
export function costIn({ usage: used = [] }: Pick<RunHead, "usage">, prices?: Prices): number | null {
  return used.length === 0 ? null : spendOf(used, prices).cost;
}

function errorText({ error, blocked }: RunHead): string {
  return [error?.code, error?.key, error?.message, blocked?.code, blocked?.message].filter(Boolean).join(" ");
}

function textsOf(head: RunHead, { encrypted = false }: SearchContext): string[] {
  const tags = Object.entries(head.tags ?? {}).map(([name, value]) => `${name}=${value}`);
  const values = encrypted ? [] : [errorText(head), head.waits?.question ?? ""];
  return [head.runId, head.workflow, head.label ?? "", ...tags, ...values];
}
