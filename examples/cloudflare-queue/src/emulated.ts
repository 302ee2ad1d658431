/** The emulator options of this Worker. */

import type { EmulatorOptions } from "example-llm/emulator";

export function emulated(vars: Readonly<Record<string, string>>): Omit<EmulatorOptions, "folder"> {
  return {
    example: "cloudflare-queue",
    vars: { DEV: "1", ...vars },
    // For `process.exit`, which makes a step crash. A deployed Worker has no `process`.
    flags: ["nodejs_compat"],
  };
}
