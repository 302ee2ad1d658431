/** Amounts as people read them: the same text on the page and in the command line. */

/** `950`, `6.1k`, `1.2M`. */
export function countText(amount: number): string {
  if (amount < 1_000) return String(amount);
  if (amount < 999_950) return `${(amount / 1_000).toFixed(1)}k`;
  return `${(amount / 1_000_000).toFixed(1)}M`;
}

/** An amount of the currency of the prices: `$0.0402`. Small ones keep two digits. */
export function costText(cost: number): string {
  const size = Math.abs(cost);
  if (size === 0 || size >= 1) return `$${cost.toFixed(2)}`;
  return `$${size < 0.001 ? cost.toPrecision(2) : cost.toFixed(4)}`;
}

/** Seconds with one digit, as long as a length is shown in seconds; `null` for a longer one. */
export function secondsText(ms: number): string | null {
  const tenths = Math.round(ms / 100);
  return tenths < 600 ? (tenths / 10).toFixed(1) : null;
}
