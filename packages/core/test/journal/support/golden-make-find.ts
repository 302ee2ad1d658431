/** The makers of the journals that brought tags and spawned runs. */

import { harbour } from "./golden-flows-find.ts";
import { appOf, place, secret, tokenOf, type Makers, type Place } from "./golden-place.ts";

const tags = { port: "north", stage: "new" };

async function opened(at: Place, id: string): Promise<string> {
  const outcome = await at.world.run(harbour.with({ ...at, secret, version: "9" }).run(1, { id, tags }));
  return tokenOf(outcome, "late");
}

export const makersFind: Makers = {
  "tagged-parked": async () => {
    const at = place();
    await opened(at, "harbour-1");
    return [at, "harbour-1"];
  },
  "tagged-forked": async () => {
    const at = place();
    await opened(at, "harbour-1");
    const fork = await harbour.with({ ...at, secret }).fork("harbour-1", { from: "taken", id: "harbour-2" });
    await at.world.run(fork.result().catch(() => null));
    return [at, "harbour-2"];
  },
  "tagged-completed": async () => {
    const at = place();
    await at.world.run(appOf(at).resume(await opened(at, "harbour-1"), "never"));
    return [at, "harbour-1"];
  },
};
