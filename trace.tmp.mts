import * as mod from "./packages/core/test/adapters/remote/support/chapters-fuzz.ts";
import { MemoryBucket } from "@durable/core";
for (const m of ["create", "put", "delete"] as const) {
  const old = (MemoryBucket.prototype as any)[m];
  (MemoryBucket.prototype as any)[m] = async function (k: any, t: any) {
    const r = await old.call(this, k, t);
    console.log(
      m,
      JSON.stringify(k).slice(0, 300),
      m === "create" ? r : "",
      String(t ?? "")
        .replace(/"head".*?"ancestors":\[\]\},?/, "")
        .slice(0, 260),
    );
    return r;
  };
}
const [seed, steps] = process.argv.slice(2).map(Number);
console.log((await mod.fuzzChapters(seed!, steps!)).violations);
