/** Since when, and until when, the runs of the list began. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { queryOf, setQuery } from "../lib/router.ts";

const presets: readonly (readonly [string, string])[] = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 h"],
  ["7d", "Last 7 d"],
];

export function TimeRange(): JSX.Element {
  const [since, until] = [queryOf("since"), queryOf("until")];
  const isPreset = until === "" && presets.some(([value]) => value === since);
  const opened = useSignal(!isPreset);
  const custom = opened.value || !isPreset;
  return (
    <>
      <select
        aria-label="Time range"
        value={custom ? "other" : since}
        onChange={(event) => {
          const { value } = event.currentTarget;
          opened.value = value === "other";
          if (value !== "other") setQuery({ since: value, until: null });
        }}
      >
        {presets.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        <option value="other">From … to …</option>
      </select>
      {custom && (
        <span class="from-to">
          <Day name="since" label="From" value={since} />
          <Day name="until" label="to" value={until} />
        </span>
      )}
    </>
  );
}

/** A day, or a length of time that the address has. */
function Day({ name, label, value }: { name: "since" | "until"; label: string; value: string }): JSX.Element {
  const isDay = value === "" || /^\d{4}-\d\d-\d\d$/.test(value);
  const shared = {
    value,
    onChange: (event: Event) => setQuery({ [name]: (event.currentTarget as HTMLInputElement).value }),
  };
  return (
    <label>
      {label} {isDay ? <input type="date" {...shared} /> : <input type="text" {...shared} />}
    </label>
  );
}
