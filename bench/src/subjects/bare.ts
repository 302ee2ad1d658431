/** A process that does nothing: what Node and the harness cost, which is subtracted from measurements of fresh processes. */

import type { SubjectModule } from "../engine.ts";

export const open: SubjectModule["open"] = async () => ({
  run: async () => {},
  close: async () => {},
});
