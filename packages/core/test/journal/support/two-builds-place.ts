/** The present build beside those of the past, and a place on disk that each of them can open. */

import * as core from "@durable/core";
import * as encryption from "@durable/core/encryption";
import * as folder from "@durable/core/folder";
import * as sqlite from "@durable/core/sqlite";
import type { Storage } from "@durable/core";
import type { Build } from "./packed-build.ts";

export const presentBuild: Build = { name: "the present build", core, sqlite, folder, encryption };

/** A SQLite file, or a bucket in a folder. */
export function openPlace({ core, sqlite, folder }: Build, kind: string, path: string): Storage {
  if (kind === "sqlite") return new sqlite.SqliteStorage(path);
  return new core.RemoteStorage(new folder.FolderBucket(path, { sync: false }));
}
