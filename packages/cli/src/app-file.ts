/** Loads the user's app: `durable.config.ts` of the project, or the file of --app. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createApp, type AnyWorkflow, type App, type Storage } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { CliError, exit } from "./exit.ts";

/** What a file for `durable` may export as its default. */
export interface CliConfig {
  /** The app of the project, made by `createApp`. */
  readonly app: App;
  /** Prices of models, for costs. */
  readonly prices?: Prices | undefined;
}

/** Types the default export of `durable.config.ts`. */
export function defineConfig(config: CliConfig): CliConfig {
  return config;
}

const names = ["ts", "mts", "js", "mjs"].map((extension) => `durable.config.${extension}`);

/** The file to load: the one that was named, or the one in the folder; `null` without any. */
export function appFile(named: string | undefined, cwd: string): string | null {
  if (named === undefined)
    return names.map((name) => join(cwd, name)).find((path) => existsSync(path)) ?? null;
  const path = resolve(cwd, named);
  if (existsSync(path)) return path;
  throw new CliError(`There is no file ${path}. Check --app.`, { exit: exit.notFound, code: "not-found" });
}

export type Loaded =
  | { readonly kind: "app"; readonly app: App; readonly prices?: Prices | undefined }
  /** Workflows without an app: they are used with the storage of --store. */
  | { readonly kind: "workflows"; readonly workflows: readonly AnyWorkflow[] };

export async function loadApp(path: string): Promise<Loaded> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new CliError(`${path} could not be loaded: ${reasonOf(error)}`, {
      exit: exit.failed,
      code: "app-failed",
    });
  }
  const loaded = appIn(module["default"]) ?? appIn(module) ?? workflowsIn(module);
  if (loaded !== null) return loaded;
  throw new CliError(
    `${path} exports neither an app nor a workflow. Write: export default createApp({ workflows: [...] })`,
    { code: "app-failed" },
  );
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if ((error as { code?: unknown } | null)?.code !== "ERR_UNKNOWN_FILE_EXTENSION") return text;
  return `this Node cannot read TypeScript. Use Node 22.18 or newer, or name a JavaScript file with --app.`;
}

function appIn(value: unknown): Loaded | null {
  if (isApp(value)) return { kind: "app", app: value };
  const { app, prices } = (value ?? {}) as Partial<CliConfig>;
  return isApp(app) ? { kind: "app", app, prices } : null;
}

function workflowsIn(module: Readonly<Record<string, unknown>>): Loaded | null {
  const found = [module["default"], ...Object.values(module)]
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isWorkflow);
  return found.length === 0 ? null : { kind: "workflows", workflows: [...new Set(found)] };
}

function isApp(value: unknown): value is App {
  const { advance, list, get, workflows } = (value ?? {}) as Partial<App>;
  return [advance, list, get].every((member) => typeof member === "function") && Array.isArray(workflows);
}

function isWorkflow(value: unknown): value is AnyWorkflow {
  const { name, definition } = (value ?? {}) as Partial<AnyWorkflow>;
  return typeof name === "string" && typeof definition?.body === "function";
}

/** An app of workflows and a storage that were named separately. */
export function appOf(storage: Storage, workflows: readonly AnyWorkflow[], secret: string | undefined): App {
  return createApp({ storage, workflows, bind: false, ...(secret ? { secret } : {}) });
}
