/** The server as a user starts it: a process of its own, with a journal that others may share. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createApp, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { DemoProcess } from "example-llm/process";

/** Where the journal, the outbox and the site of one test are, until it is removed. */
export class Place {
  readonly example = "deploy-assistant";
  readonly folder = mkdtempSync(join(tmpdir(), `${this.example}-`));
  readonly outbox = join(this.folder, "outbox");
  #storage: SqliteStorage | null = null;

  /** The journal, read as any other process would. */
  get app(): App {
    this.#storage ??= new SqliteStorage(join(this.folder, "journal.db"));
    return createApp({ storage: this.#storage, workflows: [] });
  }

  /** Names of the mails, in order. */
  mails(): string[] {
    if (!existsSync(this.outbox)) return [];
    return readdirSync(this.outbox)
      .filter((file) => !file.startsWith("."))
      .toSorted();
  }

  /** The mails, once there is one whose name ends like this. */
  async mail(end: string): Promise<string> {
    for (;;) {
      const found = this.mails().findLast((file) => file.endsWith(end));
      if (found !== undefined) return readFileSync(join(this.outbox, found), "utf8");
      await delay(20);
    }
  }

  async remove(): Promise<void> {
    await this.#storage?.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class ServerProcess extends DemoProcess {
  constructor(place: Place, env: Readonly<Record<string, string>> = {}, file = "src/main.ts") {
    super(place, { file, env: { DEMO_PACE: "0", PORT: "0", ...env } });
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    const url = await this.until((out) => /^webhook +(\S+)\/webhook$/m.exec(out)?.[1] ?? null);
    if (url === null) throw new Error(`The server did not start: ${JSON.stringify(await this.ended)}`);
    return url;
  }
}
