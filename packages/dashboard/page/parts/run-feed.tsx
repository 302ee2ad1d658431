/** What just happened in a run, the latest first. */

import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { fullTime, timeOfDay } from "../lib/format.ts";
import { setQuery } from "../lib/router.ts";
import { happeningsOf } from "../lib/story.ts";

export function Feed({ run }: { readonly run: RunPage }): JSX.Element | null {
  const list = happeningsOf(run);
  if (list.length === 0) return null;
  return (
    <section class="feed" aria-label="What just happened">
      <h2>{run.endedAt === null ? "Just now" : "At the end"}</h2>
      <ol>
        {list.map(({ at, name, text, is, key }, i) => (
          <li key={`${at} ${i}`}>
            <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
              {timeOfDay(at).slice(0, 8)}
            </time>
            {key === null ? (
              <b class={is}>{name}</b>
            ) : (
              <button type="button" class={is} onClick={() => setQuery({ step: key, in: null, tab: null })}>
                {name}
              </button>
            )}
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
