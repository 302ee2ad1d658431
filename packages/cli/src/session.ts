/**
 * What a command works on: an app, with or without the user's code.
 *
 * session.1. A storage that is named by --store or DURABLE_URL is read without code, unless --app adds it.
 * session.2. Otherwise the project's app decides, because it knows storage, secret and encryption. A command that needs
 *     no code falls back to the default file when the app cannot be loaded.
 * session.3. --no-app loads no code of the folder, whose author may be anybody, and a terminal is told when code is loaded.
 * session.4. No work that a command has begun is cut when the command ends: runs that it still drives are handed over first.
 */

import { existsSync, readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { App, Storage } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { handOver, isEncrypted, storageOf } from "@durable/core/inspect";
import { appFile, appOf, loadApp } from "./app-file.ts";
import { awaitedStorage } from "./awaited.ts";
import { CliError } from "./exit.ts";
import { defaultPlace, openStore, placeOf, type StorePlace } from "./store.ts";
import { type CliStreams, styled, type Terminal } from "./terminal.ts";

export interface SessionOptions {
  readonly store?: string | undefined;
  readonly app?: string | undefined;
  /** Loads no code. */
  readonly noApp?: boolean | undefined;
  readonly prices?: string | undefined;
  /** A file that is not there yet is waited for, and read as empty until then. */
  readonly waits?: boolean | undefined;
}

export interface Session {
  readonly app: App;
  readonly storage: Storage;
  /** Where the journals are; `null` when the app alone knows. */
  readonly place: StorePlace | null;
  readonly label: string;
  /** The file of the app; `null` when only journals are read. */
  readonly appFile: string | null;
  readonly prices: Prices | undefined;
  /** Of the values of the app: a search for words leaves them out. */
  readonly encrypted: boolean;
  close(): Promise<void>;
}

export async function openSession(
  options: SessionOptions,
  needsCode: boolean,
  { streams, term }: { readonly streams: CliStreams; readonly term: Terminal },
): Promise<Session> {
  const { cwd, env } = streams;
  const prices = readPrices(options.prices, cwd);
  if (options.noApp === true && (needsCode || options.app !== undefined))
    throw new CliError(
      options.app === undefined
        ? "This command needs the code of the workflow. Leave out --no-app."
        : "--no-app and --app exclude each other.",
      { code: "no-app" },
    );
  const alone =
    options.noApp === true ||
    (options.app === undefined && (options.store !== undefined || Boolean(env["DURABLE_URL"])));
  const file = alone && !needsCode ? null : appFile(options.app, cwd);
  if (needsCode && file === null)
    throw new CliError(
      "This needs the code of the workflow. Add a durable.config.ts that exports your app, or pass --app <file>.",
      { code: "no-app" },
    );
  if (file !== null) {
    if (options.app === undefined && !needsCode && term.interactive)
      term.say(styled("dim", `Running ${relative(cwd, file)} of this folder; --no-app reads without it.`));
    try {
      return await withApp(file, { ...options, prices }, streams);
    } catch (error) {
      if (
        needsCode ||
        options.app !== undefined ||
        !(error instanceof CliError) ||
        error.code !== "app-failed"
      )
        throw error;
      term.say(`${error.message} Reading the default journal without it.`);
    }
  }
  return journalsAlone(options.store, { prices, waits: options.waits }, streams);
}

async function withApp(
  file: string,
  { store, ...reading }: Reading & { readonly store?: string | undefined },
  streams: CliStreams,
): Promise<Session> {
  const loaded = await loadApp(file);
  if (loaded.kind === "workflows") {
    const session = await journalsAlone(store, reading, streams);
    const { storage } = session;
    const app = appOf(storage, loaded.workflows, streams.env["DURABLE_SECRET"]);
    return { ...session, app, appFile: file, close: () => closed(app, storage) };
  }
  if (store !== undefined)
    throw new CliError(
      `The app in ${file} has a storage of its own. Leave out --store, or export workflows instead.`,
    );
  const { app } = loaded;
  const storage = await storageOf(app);
  const { path } = storage as { path?: unknown };
  const place = typeof path === "string" && path !== ":memory:" ? placeOf(path, streams) : null;
  return {
    app,
    storage,
    place,
    label: place?.label ?? file,
    appFile: file,
    prices: reading.prices ?? loaded.prices,
    encrypted: isEncrypted(app),
    close: () => closed(app, storage),
  };
}

interface Reading {
  readonly prices: Prices | undefined;
  readonly waits?: boolean | undefined;
}

async function journalsAlone(
  store: string | undefined,
  { prices, waits = false }: Reading,
  streams: CliStreams,
): Promise<Session> {
  const place = placeOf(store ?? defaultPlace(streams), streams);
  const { kind, path } = place;
  const isAwaited = waits && kind === "sqlite" && path !== null && !existsSync(path);
  const open = (): Promise<Storage> => openStore(place, streams);
  const storage = isAwaited ? awaitedStorage(path, open) : await open();
  const app = appOf(storage, [], streams.env["DURABLE_SECRET"]);
  return {
    app,
    storage,
    place,
    label: place.label,
    appFile: null,
    prices,
    encrypted: false,
    close: () => closed(app, storage),
  };
}

/** Work that a command has begun is recorded before its storage is closed. */
async function closed(app: App, storage: Storage): Promise<void> {
  await handOver(app);
  await storage.close?.();
}

/** The prices of a file. */
export function readPrices(file: string | undefined, cwd: string): Prices | undefined {
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(resolve(cwd, file), "utf8")) as Prices;
  } catch (error) {
    throw new CliError(
      `--prices could not be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
