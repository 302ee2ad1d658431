/** How the Worker is started here, and nowhere else. */

import type { EmulatorOptions } from "example-llm/emulator";

export function emulated(vars: Readonly<Record<string, string>>): Omit<EmulatorOptions, "folder"> {
  return {
    example: "cloudflare-queue",
    vars: { DEV: "1", ...vars },
    // For `process.exit`, which is how a step crashes on purpose. What is deployed has no `process`.
    flags: ["nodejs_compat"],
  };
}
