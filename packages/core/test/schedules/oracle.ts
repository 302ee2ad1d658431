/**
 * The ticks of a cron expression, found by walking through every minute and reading the clock of the zone. It shares no code
 * with the library: fields are matched as texts, and days are never computed.
 */

interface Wall {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
  /** Year to minute, as text. */
  readonly text: string;
  /** Minutes since some day, to see jumps of the clock. */
  readonly count: number;
}

const names: Readonly<Record<string, number>> = Object.fromEntries([
  ..."jan feb mar apr may jun jul aug sep oct nov dec".split(" ").map((name, at) => [name, at + 1]),
  ..."sun mon tue wed thu fri sat".split(" ").map((name, at) => [name, at]),
]);

function numberOf(text: string): number {
  return names[text] ?? Number(text);
}

/** Whether a field of an expression names a value; Sunday is 0 and 7. */
function isNamed(field: string, value: number, low: number, high: number): boolean {
  return field.split(",").some((item) => {
    const [range = "", step = "1"] = item.split("/");
    const [first = "", last] = range === "*" ? [String(low), String(high)] : range.split("-");
    const from = numberOf(first);
    const to = last === undefined ? (item.includes("/") ? high : from) : numberOf(last);
    return value >= from && value <= to && (value - from) % Number(step) === 0;
  });
}

type Fits = (wall: Omit<Wall, "text" | "count">) => boolean;

/** Each field is asked once for each of its values, because a walk has half a million minutes. */
function fitting(fields: readonly string[]): Fits {
  const [minute = "*", hour = "*", day = "*", month = "*", weekday = "*"] = fields;
  const valuesOf = (field: string, low: number, high: number): boolean[] =>
    Array.from({ length: high + 1 }, (_, value) => isNamed(field, value, low, high));
  const [minutes, hours] = [valuesOf(minute, 0, 59), valuesOf(hour, 0, 23)];
  const [days, months] = [valuesOf(day, 1, 31), valuesOf(month, 1, 12)];
  const weekdays = valuesOf(weekday, 0, 6);
  if (weekday !== "*" && isNamed(weekday, 7, 0, 7)) weekdays[0] = true;
  const either = !day.startsWith("*") && !weekday.startsWith("*");
  return (wall) => {
    if (minutes[wall.minute] !== true || hours[wall.hour] !== true || months[wall.month] !== true)
      return false;
    const [isDay, isWeekday] = [days[wall.day] === true, weekdays[wall.weekday] === true];
    return either ? isDay || isWeekday : isDay && isWeekday;
  };
}

/** Every minute of a span, with what the clock of the zone shows. Made once per zone, because it is the slow part. */
export function walls(timeZone: string, from: number, until: number): readonly (readonly [number, Wall])[] {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const found: [number, Wall][] = [];
  for (let at = from; at < until; at += 60_000) found.push([at, wallOf(format.format(at))]);
  return found;
}

/** From "2026-03-29 02:30". */
function wallOf(text: string): Wall {
  const [year, month, day, hour, minute] = text.split(/[- :]/).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const days = Math.round(Date.UTC(year, month - 1, day) / 86_400_000);
  return {
    minute,
    hour,
    day,
    month,
    weekday: (((days + 4) % 7) + 7) % 7,
    text,
    count: days * 1_440 + hour * 60 + minute,
  };
}

/** The wall of a minute that the clock jumps over. */
function skipped(count: number): Wall {
  const date = new Date(count * 60_000);
  return wallOf(date.toISOString().slice(0, 16).replace("T", " "));
}

/** The ticks of an expression in a walk. */
export function oracle(expression: string, walk: readonly (readonly [number, Wall])[]): number[] {
  const fields = expression.split(" ");
  const byTime = fields[1]?.startsWith("*") === true || fields[1] === "0-23";
  const fits = fitting(fields);
  const ticks: number[] = [];
  const seen = new Set<string>();
  let before: number | null = null;
  for (const [at, wall] of walk) {
    const jumped: Wall[] = [];
    if (!byTime && before !== null)
      for (let count = before + 1; count < wall.count; count++) jumped.push(skipped(count));
    const isTick = fits(wall) && (byTime || !seen.has(wall.text));
    if (isTick) seen.add(wall.text);
    if (isTick || jumped.some(fits)) ticks.push(at);
    before = wall.count;
  }
  return ticks;
}
