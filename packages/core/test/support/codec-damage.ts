/** Damage to what the codec wrote, decided by a seed. */

import type { Chance } from "./codec-values.ts";

const stock: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 31,
  "",
  "NaN",
  "__proto__",
  "Uint8Array",
  [],
  {},
  [1, 2],
  { $: "ref", v: 0 },
  { $: "ref", v: 7 },
  { $: "undefined" },
  { $: "sparse", n: 3, v: [[1, 1]] },
  { $: "error", name: "TypeError", message: "m", type: "RetryError" },
  { $: "error", name: "DOMException", message: "m", type: "DOMException", cause: 1 },
  { $: "bytes", t: "Float64Array", v: "AAAA" },
];
const tags = [
  "undefined",
  "number",
  "bigint",
  "date",
  "map",
  "set",
  "regexp",
  "url",
  "error",
  "bytes",
  "sparse",
];

/** The tree with one to three nodes replaced, removed, retagged or moved. */
export function damaged(chance: Chance, root: unknown): unknown {
  const box: Record<string, unknown> = { root };
  for (let i = 1 + chance.below(3); i > 0; i--) {
    const places: [Record<string, unknown>, string][] = [];
    const visit = (holder: Record<string, unknown>): void => {
      for (const key of Object.keys(holder)) {
        places.push([holder, key]);
        const inner = holder[key];
        if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>);
      }
    };
    visit(box);
    const [holder, key] = chance.pick(places);
    const change = chance.below(5);
    if (change === 0) holder[key] = copied(chance.pick(places));
    else if (change === 1 && key !== "root") Reflect.deleteProperty(holder, key);
    else if (change === 2 && !Array.isArray(holder)) holder["$"] = chance.pick([...tags, "object", "ref"]);
    else holder[key] = structuredClone(chance.pick(stock));
  }
  return box["root"];
}

function copied([holder, key]: [Record<string, unknown>, string]): unknown {
  return structuredClone(holder[key]);
}
