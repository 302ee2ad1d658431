/** Loads `later.ts` once. */

import { lazy } from "../values/lazy.ts";

export const later = /* @__PURE__ */ lazy(() => import("./later.ts"));
