/**
 * Sends only the changes of a page of a run since it was sent last. Proven in test/patch.test.ts.
 *
 * patch.1. A page that is put together from a patch is the page that the server has now, whatever changed in it.
 * patch.2. Pages that were sent are kept within a bound, and the oldest goes first. A page that is no longer known is sent whole.
 * patch.3. The name of a page that was sent cannot be guessed, and holds for its run alone.
 */

import type { Row, RunPage, RunPatch, SentRun } from "./api.ts";

/** How many characters of pages are kept. */
const mostKept = 32 * 1024 * 1024;

interface Sent {
  readonly about: string;
  readonly rows: readonly string[];
  readonly rest: ReadonlyMap<string, string>;
  readonly size: number;
}

/** Names of fields whose change alone says nothing: the page has a clock of its own. */
const clock = new Set(["now"]);

/** The pages that were sent last. */
export class SentPages {
  readonly #sent = new Map<string, Sent>();
  #size = 0;

  /** What is sent for a page: all of it, or what is new since the page that is named. */
  answer(
    page: RunPage,
    { about, known }: { readonly about: string; readonly known: string | null },
  ): SentRun {
    const { rows, ...others } = page;
    const texts = rows.map((row) => JSON.stringify(row));
    const rest = new Map(
      Object.entries(others).flatMap(([name, value]) =>
        clock.has(name) || value === undefined ? [] : [[name, JSON.stringify(value)] as const],
      ),
    );
    const before = known === null ? undefined : this.#sent.get(known);
    if (before === undefined || before.about !== about)
      return { ...page, sent: this.#keep({ about, rows: texts, rest }) };
    const parts = copied(before.rows, texts, rows);
    const set = [...rest].filter(([name, text]) => before.rest.get(name) !== text).map(([name]) => name);
    const gone = [...before.rest.keys()].filter((name) => !rest.has(name));
    const isSame = set.length === 0 && gone.length === 0 && isWhole(parts, before.rows.length);
    const sent = isSame && known !== null ? known : this.#keep({ about, rows: texts, rest });
    const changed = Object.fromEntries(Object.entries(others).filter(([name]) => set.includes(name)));
    return { sent, of: known ?? "", now: page.now, rows: parts, set: changed, gone } satisfies RunPatch;
  }

  #keep(page: Omit<Sent, "size">): string {
    let size = 0;
    for (const text of [...page.rows, ...page.rest.values()]) size += text.length;
    const name = crypto.randomUUID();
    this.#sent.set(name, { ...page, size });
    this.#size += size;
    for (const [oldest, { size: freed }] of this.#sent) {
      if (this.#size <= mostKept || oldest === name) break;
      this.#sent.delete(oldest);
      this.#size -= freed;
    }
    return name;
  }
}

function isWhole(parts: RunPatch["rows"], length: number): boolean {
  const [part] = parts;
  if (length === 0) return parts.length === 0;
  return parts.length === 1 && Array.isArray(part) && part[0] === 0 && part[1] === length;
}

/** Rows as ranges of the rows before, and rows that are new. */
function copied(before: readonly string[], after: readonly string[], rows: readonly Row[]): RunPatch["rows"] {
  const places = new Map(before.map((text, i) => [text, i]));
  const parts: (Row | [number, number])[] = [];
  for (const [i, text] of after.entries()) {
    const last = parts.at(-1);
    // Equal rows may stand at several places, so the next one is tried first.
    if (Array.isArray(last) && before[last[1]] === text) {
      last[1] += 1;
      continue;
    }
    const place = places.get(text);
    parts.push(place === undefined ? (rows[i] as Row) : [place, place + 1]);
  }
  return parts;
}
