/** Asks a service for the outcome of an effect that is not known. Loaded at its first use. */

import { pause, type World } from "../../ports/world.ts";
import { show } from "../../values/errors.ts";
import type { Resolution, Uncertain } from "./on-uncertain.ts";
import { nextAttemptAt, type RetryPolicy } from "./retry.ts";
import { checkedResolution } from "./uncertain.ts";

/** Calls `find` with the retry policy of the step; after the last attempt the step has failed. */
export async function reconcile(
  find: (uncertain: Uncertain) => Resolution | Promise<Resolution>,
  uncertain: Uncertain,
  { world, policy, where }: { readonly world: World; readonly policy: RetryPolicy; readonly where: string },
): Promise<Resolution> {
  for (let attempt = 1; ; attempt++) {
    try {
      return checkedResolution(await find(uncertain));
    } catch (error) {
      const now = world.now();
      const again = nextAttemptAt(policy, { error, attempt }, { now, random: world.random() });
      if (again === null) {
        const why = error instanceof Error ? error.message : show(error);
        return { status: "failed", message: `Could not determine the outcome of ${where}: ${why}` };
      }
      await pause(world, again - now);
    }
  }
}
