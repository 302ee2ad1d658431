/** A run as it is read from its log: batches of one chapter or of several, with their blobs. */

import type { ReadReply } from "../../ports/storage.ts";
import type { Blobs } from "./blobs.ts";
import type { Chapters, History } from "./chapters.ts";
import { assertLocator } from "./layout.ts";
import type { Logs } from "./logs.ts";
import { lostRaces, mostTries, firstPosition, isHeld, noteOf } from "./record.ts";
import type { Chapter, NamedText } from "./run-log.ts";

export class Reading {
  readonly #logs: Logs;
  readonly #chapters: Chapters;
  readonly #blobs: Blobs;
  readonly #now: () => number;

  constructor(logs: Logs, chapters: Chapters, blobs: Blobs, now: () => number) {
    this.#logs = logs;
    this.#chapters = chapters;
    this.#blobs = blobs;
    this.#now = now;
  }

  async read(locator: string, from: number): Promise<ReadReply> {
    assertLocator(locator);
    for (let tries = 0; tries < mostTries; tries++) {
      const { log } = await this.#logs.load(locator);
      if (log === null || log.state.closed) return { batches: [], length: 0, deleted: false };
      const { chapter } = log;
      const first = firstPosition(chapter.state);
      const start = Math.max(from, first);
      const history = start < chapter.from ? await this.#chapters.before(log, start) : none;
      // Null when the earlier chapters were dropped meanwhile.
      if (history === null) continue;
      const batches = [...history.batches, ...chapter.batches.slice(Math.max(0, start - chapter.from))];
      const named = [...history.blobs, ...chapter.blobs].filter(([, { position }]) => position >= start);
      const reply = await this.#reply(locator, chapter, named);
      return { ...reply, batches, ...(from < first && { from: first }) };
    }
    throw lostRaces(locator);
  }

  async readChapter(locator: string): Promise<ReadReply & { readonly from: number }> {
    assertLocator(locator);
    const { log } = await this.#logs.load(locator);
    if (log === null || log.state.closed) return { batches: [], length: 0, deleted: false, from: 0 };
    const { chapter } = log;
    const { batches, from, blobs } = chapter;
    return { ...(await this.#reply(locator, chapter, [...blobs])), batches, from };
  }

  async #reply(
    locator: string,
    { state }: Chapter,
    named: readonly (readonly [string, NamedText])[],
  ): Promise<Omit<ReadReply, "batches">> {
    const note = noteOf(state);
    const bodies = named.map(async ([name, { text }]) => {
      return [name, await this.#blobs.body(locator, name, text)] as const;
    });
    return {
      length: state.length,
      deleted: state.deleted,
      ...(!state.deleted && { head: state.head }),
      ...(note !== null && { blocked: note }),
      driven: isHeld(state, this.#now()),
      ...(bodies.length > 0 && { blobs: Object.fromEntries(await Promise.all(bodies)) }),
    };
  }
}

const none: History = { batches: [], blobs: [] };
