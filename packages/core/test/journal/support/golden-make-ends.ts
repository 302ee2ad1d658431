/** The makers of the journals that brought clean-up and compensation. */

import { faultyStorage } from "@durable/testing";
import { rescue } from "./golden-flows-ends.ts";
import { appOf, onward, place, secret, type Makers } from "./golden-place.ts";

export const makersOfEnds: Makers = {
  "undone-failed": async () => {
    const at = place();
    await at.world.run(rescue.with({ ...at, secret }).run("fails", { id: "rescue-1" }));
    return [at, "rescue-1"];
  },
  "undone-cancelled": async () => {
    const at = place();
    await at.world.run(rescue.with({ ...at, secret }).run("waits", { id: "rescue-2" }));
    await appOf(at, []).cancel("rescue-2", { reason: "found by another" });
    await onward(at, "rescue-2");
    return [at, "rescue-2"];
  },
  "undone-half": async () => {
    const at = place();
    await at.world.run(rescue.with({ ...at, secret }).run("waits", { id: "rescue-3" }));
    await appOf(at, []).cancel("rescue-3");
    const dying = faultyStorage(at.storage, {
      world: at.world,
      plan: (operation, index) => (operation === "append" && index === 2 ? "crash-after" : null),
    });
    const undoing = appOf({ ...at, storage: dying }).advance("rescue-3");
    await at.world.run(Promise.race([undoing, dying.died]));
    return [at, "rescue-3"];
  },
};
