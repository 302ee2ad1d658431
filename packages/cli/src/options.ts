/** Options that all commands share. */

import type { OptionSpecs } from "./command.ts";

export const globalOptions: OptionSpecs = {
  store: {
    type: "string",
    short: "s",
    value: "url",
    help: "where the journals are: a path, postgres://..., s3://bucket/prefix",
  },
  app: {
    type: "string",
    short: "a",
    value: "file",
    help: "a file that exports the app or workflows (durable.config.ts by default)",
  },
  "no-app": {
    type: "boolean",
    help: "run no code of the folder: commands that only read need none",
  },
  prices: { type: "string", value: "file", help: "JSON with prices of a million tokens by model, for costs" },
  json: { type: "boolean", help: "one JSON document on stdout" },
  utc: { type: "boolean", help: "times in UTC, and not in your time zone" },
  quiet: { type: "boolean", short: "q", help: "no hints and no progress" },
  ascii: { type: "boolean", help: "no characters outside of ASCII" },
  "no-color": { type: "boolean", help: "no colours (also NO_COLOR)" },
  "no-input": { type: "boolean", help: "never ask" },
  yes: { type: "boolean", short: "y", help: "do not ask for confirmation" },
  help: { type: "boolean", short: "h", help: "this help" },
};

/** Options of commands that choose runs. */
export const filterOptions: OptionSpecs = {
  status: {
    type: "string",
    value: "status",
    help: "such as failed, or several: failed,blocked; also queued, waiting, sleeping, open",
  },
  waiting: { type: "boolean", help: "only runs with an open wait, whatever else they do" },
  workflow: { type: "string", short: "w", value: "name", help: "only runs of this workflow" },
  parent: { type: "string", value: "run", help: "only forks and children of this run" },
  label: { type: "string", value: "text", help: "only forks with this label" },
  tag: {
    type: "string",
    multiple: true,
    value: "name=value",
    help: "only runs with this tag; may be repeated",
  },
  version: { type: "string", value: "version", help: "only runs of this version of the code" },
  q: {
    type: "string",
    value: "text",
    help: "only runs whose id, label or value of a tag begins with this text",
  },
  since: {
    type: "string",
    value: "1d",
    help: "only runs that began in this time: 6h, 7d, 2026-11-17 or 2026-11-17T10:00",
  },
  until: { type: "string", value: "2026-11-17", help: "only runs that began before, or on this day" },
  before: { type: "string", value: "30d", help: "only runs that did not change for so long" },
  where: {
    type: "string",
    value: "filter",
    help: "the same in one text, as on the page: 'status:failed error:429 cost>0.5 words'",
  },
};
