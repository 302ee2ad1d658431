/** Recorded values: a tree that opens where it is clicked. Text stays text, whatever it contains. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Cuts, ValueHits } from "../../src/api.ts";
import { findWords, partAt } from "../../src/parts.ts";
import { exported, findIn, getPart, saveValue, type ValueSource } from "../lib/api.ts";
import { fullTime, plural } from "../lib/format.ts";
import { copy, messageOf, say } from "../lib/state.ts";

const itemsPerPage = 100;
const longText = 2_000;
/** A value with more JSON can be searched and saved. */
const largeFrom = 5_000;

/** Where the value is from, and what of it is missing here. */
interface Whole {
  /** True where numbers with the names of times are times. */
  readonly times: boolean;
  readonly source: ValueSource | undefined;
  readonly cuts: Cuts;
}

const WholeContext = createContext<Whole>({ times: false, source: undefined, cuts: {} });

export interface ValueProps {
  readonly value: Plain;
  readonly label: string;
  readonly source?: ValueSource | undefined;
  readonly cuts?: Cuts | undefined;
  /** The time is said beside numbers that are times by their name. */
  readonly times?: boolean;
}

export function Value({ value, label, source, cuts = {}, times = false }: ValueProps): JSX.Element {
  const isCut = Object.keys(cuts).length > 0;
  const isLarge = isCut || (source !== undefined && JSON.stringify(value).length > largeFrom);
  return (
    <WholeContext.Provider value={{ times, source: exported === null ? source : undefined, cuts }}>
      {isLarge && <LargeTools value={value} source={source} isCut={isCut} />}
      <div class="value">
        {!isCut && (
          <button
            type="button"
            class="icon copy"
            aria-label={`Copy ${label}`}
            title="Copy as JSON"
            onClick={() => void copy(textOf(value), label)}
          >
            ⧉
          </button>
        )}
        {typeof value === "string" ? (
          <Text text={value} path="" quoted={false} />
        ) : (
          <Part value={value} depth={0} path="" />
        )}
      </div>
    </WholeContext.Provider>
  );
}

export function textOf(value: Plain): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

interface Hit {
  readonly path: string;
  readonly part: Plain;
}

interface LargeProps {
  readonly value: Plain;
  readonly source: ValueSource | undefined;
  readonly isCut: boolean;
}

/** Search inside, and the value as a file. */
function LargeTools({ value, source, isCut }: LargeProps): JSX.Element {
  const [found, setFound] = useState<ValueHits | null>(null);
  const [hit, setHit] = useState<Hit | null>(null);
  const search = async (words: string): Promise<void> => {
    setHit(null);
    if (words === "") setFound(null);
    else setFound(isCut && source !== undefined ? await findIn(source, words) : findWords(value, words));
  };
  const show = async (path: string): Promise<void> => {
    const here = isCut ? undefined : partAt(value, path);
    if (here !== undefined) setHit({ path, part: here });
    else if (source !== undefined) setHit({ path, part: (await getPart(source, { path })).value });
  };
  return (
    <>
      <form
        class="value-tools"
        onSubmit={(event) => {
          event.preventDefault();
          const words = new FormData(event.currentTarget).get("words");
          tried(search(typeof words === "string" ? words : ""));
        }}
      >
        <input name="words" type="search" placeholder="Search inside" aria-label="Search inside the value" />
        <button type="submit" class="btn s">
          Search
        </button>
        {source !== undefined && exported === null && (
          <button type="button" class="btn s" onClick={() => tried(saveValue(source))}>
            Download
          </button>
        )}
      </form>
      {found !== null && <Hits found={found} onShow={(path) => tried(show(path))} />}
      {hit !== null && (
        <div class="value" role="group" aria-label={`The part at ${hit.path || "/"}`}>
          <Part value={hit.part} depth={0} path={hit.path} />
        </div>
      )}
    </>
  );
}

/** A failure is said at the edge of the page. */
function tried(work: Promise<unknown>): void {
  work.catch((error: unknown) => say(messageOf(error), true));
}

function Hits({ found, onShow }: { found: ValueHits; onShow: (path: string) => void }): JSX.Element {
  const { hits, more } = found;
  const places = `${plural(hits.length, "place")}${more ? ", and more" : ""}`;
  return (
    <div class="hits" role="status">
      <p class="soft">{hits.length === 0 ? "Nothing was found." : places}</p>
      <ul>
        {hits.map(({ path, text }) => (
          <li key={path}>
            <button type="button" class="link key" onClick={() => onShow(path)}>
              {path || "/"}
            </button>{" "}
            <span class="soft">{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Long texts are shown in part, because a browser takes seconds for megabytes. */
export function LongText({ text }: { text: string }): JSX.Element {
  const [all, setAll] = useState(false);
  const isCut = text.length > longText && !all;
  return (
    <span class="text">
      {isCut ? text.slice(0, longText) : text}
      {isCut && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          show all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}

/** A recorded text, in quotes where other values stand beside it. What is missing is read on demand. */
function Text({ text, path, quoted }: { text: string; path: string; quoted: boolean }): JSX.Element {
  const { cuts, source } = useContext(WholeContext);
  const [more, setMore] = useState("");
  const cut = cuts[path];
  const left = cut === undefined ? 0 : cut.size - text.length - more.length;
  const read = async (): Promise<void> => {
    if (source === undefined) return;
    const { value } = await getPart(source, { path, offset: text.length + more.length });
    if (typeof value === "string") setMore(more + value);
  };
  return (
    <span class={quoted ? "string" : ""}>
      {quoted && <i class="q">"</i>}
      <LongText text={text} />
      {more !== "" && <span class="text">{more}</span>}
      {quoted && left <= 0 && <i class="q">"</i>}
      {left > 0 && (
        <More left={left} noun="character" onClick={source === undefined ? undefined : () => tried(read())} />
      )}
    </span>
  );
}

function More(props: { left: number; noun: string; onClick: (() => void) | undefined }): JSX.Element {
  const text = `${props.left.toLocaleString("en")} more ${props.noun}${props.left === 1 ? "" : "s"}`;
  if (props.onClick === undefined) return <span class="faint"> … {text}, not in this file</span>;
  const { onClick } = props;
  return (
    <button type="button" class="more" onClick={onClick}>
      read on, {text}
    </button>
  );
}

interface PartProps {
  readonly value: Plain;
  readonly depth: number;
  readonly path: string;
  readonly name?: string;
}

function Part({ value, depth, path, name }: PartProps): JSX.Element {
  const label = name === undefined ? null : <span class="name">{name}: </span>;
  if (typeof value !== "object" || value === null)
    return (
      <div class="leaf">
        {label}
        <Leaf value={value} path={path} />
      </div>
    );
  return <Branch value={value} depth={depth} path={path} label={label} />;
}

/** Fields of entries that are times, in milliseconds since 1970; none is older than this program. */
const timeNames = /^\/(?:\w+At|until|since|deadline)$/;
const firstTime = 1_600_000_000_000;

type Single = string | number | boolean | null;

function Leaf({ value, path }: { value: Single; path: string }): JSX.Element {
  if (typeof value === "string") return <Text text={value} path={path} quoted />;
  const { times } = useContext(WholeContext);
  const isTime = times && typeof value === "number" && value > firstTime && timeNames.test(path);
  return (
    <span class={value === null ? "null" : typeof value}>
      {String(value)}
      {isTime && <span class="faint"> {fullTime(value)}</span>}
    </span>
  );
}

const join = (path: string, name: string): string =>
  `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

type BranchProps = Omit<PartProps, "value" | "name"> & {
  readonly value: object;
  readonly label: JSX.Element | null;
};

/** The entries of a list or an object: those that are here, and those that were read since. */
function useEntries({ value, path }: Pick<BranchProps, "value" | "path">): {
  readonly entries: readonly (readonly [string, Plain])[];
  readonly size: number;
  readonly cuts: Cuts;
  /** Reads the next page; missing where nothing can be read. */
  readonly read: (() => Promise<void>) | undefined;
} {
  const { cuts, source } = useContext(WholeContext);
  const [more, setMore] = useState<readonly (readonly [string, Plain])[]>([]);
  const [moreCuts, setMoreCuts] = useState<Cuts>({});
  const entries = [...Object.entries(value as Record<string, Plain>), ...more];
  const read = async (from: ValueSource): Promise<void> => {
    const page = await getPart(from, { path, offset: entries.length });
    const next = Object.entries(page.value as Record<string, Plain>);
    const first = Array.isArray(value) ? page.offset : null;
    setMore([
      ...more,
      ...next.map(([name, part]) => [first === null ? name : String(Number(name) + first), part] as const),
    ]);
    setMoreCuts({ ...moreCuts, ...page.cuts });
  };
  return {
    entries,
    size: Math.max(cuts[path]?.size ?? 0, entries.length),
    cuts: { ...cuts, ...moreCuts },
    read: source === undefined ? undefined : () => read(source),
  };
}

function Branch({ value, depth, path, label }: BranchProps): JSX.Element {
  const { source, times } = useContext(WholeContext);
  const { entries, size, cuts, read } = useEntries({ value, path });
  const [open, setOpen] = useState(depth < 2 && size <= itemsPerPage);
  const [shown, setShown] = useState(itemsPerPage);
  const isList = Array.isArray(value);
  const [begin, end, noun] = isList ? ["[", "]", "item"] : ["{", "}", "name"];
  const more = (): void => {
    setShown(shown + itemsPerPage);
    if (shown >= entries.length && read !== undefined) tried(read());
  };
  if (size === 0)
    return (
      <div class="leaf">
        {label}
        <span class="null">{begin + end}</span>
      </div>
    );
  const left = size - Math.min(shown, entries.length);
  const canRead = entries.length > shown || read !== undefined;
  return (
    <div class="branch">
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="arrow" aria-hidden="true">
          {open ? "▾" : "▸"}
        </span>
        {label}
        <span class="null">{open ? begin : isList ? plural(size, "item") : preview(entries)}</span>
      </button>
      {open && (
        <WholeContext.Provider value={{ times, source, cuts }}>
          <div class="inside">
            {entries.slice(0, shown).map(([key, part]) => (
              <Part key={key} name={key} value={part} depth={depth + 1} path={join(path, key)} />
            ))}
            {left > 0 && <More left={left} noun={noun} onClick={canRead ? more : undefined} />}
          </div>
          <div class="leaf end">
            <span class="null">{end}</span>
          </div>
        </WholeContext.Provider>
      )}
    </div>
  );
}

function preview(entries: readonly (readonly [string, Plain])[]): string {
  const names = entries.slice(0, 4).map(([name]) => name);
  return `{ ${names.join(", ")}${entries.length > names.length ? ", …" : ""} }`;
}
