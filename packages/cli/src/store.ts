/** Storages by URL. Adapters are loaded when their scheme is used, from the project first. */

import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Storage } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { CliError, exit } from "./exit.ts";

export interface StorePlace {
  readonly kind: "sqlite" | "folder" | "postgres" | "s3";
  /** For messages, without a password. */
  readonly label: string;
  /** The file or folder; `null` for servers. */
  readonly path: string | null;
  readonly url: string;
}

export interface StoreOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Makes a missing file, folder or schema: for the target of a copy. */
  readonly create?: boolean | undefined;
}

/** The place that is used when no other is named. */
export function defaultPlace({ cwd, env }: StoreOptions): string {
  return env["DURABLE_URL"] || join(resolve(cwd, env["DURABLE_DIR"] || ".durable"), "journal.db");
}

/** What a URL or a path stands for. */
export function placeOf(url: string, { cwd }: Pick<StoreOptions, "cwd">): StorePlace {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase() ?? "";
  if (scheme === "postgres" || scheme === "postgresql")
    return { kind: "postgres", label: withoutPassword(url), path: null, url };
  if (scheme === "s3") return { kind: "s3", label: withoutPassword(url), path: null, url };
  if (scheme === "sqlite" || scheme === "folder") {
    const path = resolve(cwd, url.slice(scheme.length + 1).replace(/^\/\/(?=[^/]|\/)/, ""));
    return { kind: scheme, label: shown(path, cwd), path, url };
  }
  if (scheme.length > 1 && scheme !== "file")
    throw new CliError(
      `There is no storage for "${withoutPassword(url)}". Use a path, sqlite:, folder:, postgres:// or s3://bucket/prefix.`,
    );
  const path = scheme === "file" ? fileURLToPath(url) : resolve(cwd, url);
  return { ...filePlace(path), label: shown(path, cwd), url };
}

function filePlace(path: string): Pick<StorePlace, "kind" | "path"> {
  if (!existsSync(path)) return { kind: /\.(db|sqlite3?)$/.test(path) ? "sqlite" : "folder", path };
  if (!statSync(path).isDirectory()) return { kind: "sqlite", path };
  const inside = join(path, "journal.db");
  return existsSync(inside) ? { kind: "sqlite", path: inside } : { kind: "folder", path };
}

/** Opens the storage of a place. A missing file is an error, because opening it would create an empty journal. */
export async function openStore(place: StorePlace, options: StoreOptions): Promise<Storage> {
  if (place.path !== null && options.create !== true && !existsSync(place.path))
    throw new CliError(
      `There is no journal at ${place.label}. Name another one with --store, or run a workflow first.`,
      {
        exit: exit.notFound,
        code: "not-found",
      },
    );
  switch (place.kind) {
    case "sqlite": {
      const { SqliteStorage } = await import("@durable/core/sqlite");
      return new SqliteStorage(place.path ?? "");
    }
    case "folder": {
      const { FolderBucket } = await import("@durable/core/folder");
      return new RemoteStorage(new FolderBucket(place.path ?? ""));
    }
    case "postgres":
      return openPostgres(place.url, options);
    case "s3":
      return openS3(place.url, options);
  }
}

async function openPostgres(address: string, options: StoreOptions): Promise<Storage> {
  const { PostgresStorage } = await load<{
    PostgresStorage: new (options: { url: string; schema?: string; migrate: boolean }) => Storage;
  }>("@durable/postgres", "@durable/postgres pg", options.cwd);
  return new PostgresStorage({ ...postgresOf(address), migrate: options.create === true });
}

/** The address of a database, and the schema that it names. */
export function postgresOf(address: string): { readonly url: string; readonly schema?: string } {
  const url = new URL(address);
  const schema = url.searchParams.get("schema");
  url.searchParams.delete("schema");
  return { url: url.href, ...(schema === null ? {} : { schema }) };
}

async function openS3(address: string, { cwd, env }: StoreOptions): Promise<Storage> {
  const { s3Bucket } = await load<{ s3Bucket: (options: Readonly<Record<string, string>>) => Bucket }>(
    "@durable/s3",
    "@durable/s3",
    cwd,
  );
  const url = new URL(address);
  const [accessKeyId, secretAccessKey] = [env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]];
  if (!accessKeyId || !secretAccessKey)
    throw new CliError(
      `Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to read ${withoutPassword(address)}.`,
    );
  const path = url.pathname.slice(1);
  const given = {
    region: url.searchParams.get("region") ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"],
    endpoint: url.searchParams.get("endpoint") ?? env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"],
    sessionToken: env["AWS_SESSION_TOKEN"],
    prefix: path === "" || path.endsWith("/") ? path : `${path}/`,
  };
  const options = Object.entries(given).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return new RemoteStorage(
    s3Bucket({ bucket: url.hostname, accessKeyId, secretAccessKey, ...Object.fromEntries(options) }),
  );
}

/** Loads a package that is not a dependency: from the project, then from where this package is. */
export async function load<T>(name: string, install: string, cwd: string): Promise<T> {
  const inProject = resolveFrom(cwd, name);
  if (inProject !== null) return (await import(inProject)) as T;
  try {
    return (await import(name)) as T;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new CliError(`This needs ${name}, which is not installed. Type: npm i -D ${install}`, {
      exit: exit.usage,
      code: "not-installed",
    });
  }
}

function resolveFrom(folder: string, name: string): string | null {
  try {
    return pathToFileURL(createRequire(join(folder, "package.json")).resolve(name)).href;
  } catch {
    return null;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}

function shown(path: string, cwd: string): string {
  const inside = `${resolve(cwd)}/`;
  return path.startsWith(inside) ? path.slice(inside.length) : path;
}

function withoutPassword(url: string): string {
  return url
    .replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1:***@")
    .replace(/([?&][^=&]*(?:key|password|secret|token)[^=&]*=)[^&]*/gi, "$1***");
}
