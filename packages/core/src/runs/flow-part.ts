/** Limits of runs and steps, for programs that use them. */

import { lazy } from "../values/lazy.ts";

export const flowPart = /* @__PURE__ */ lazy(() => import("./flow.ts"));
