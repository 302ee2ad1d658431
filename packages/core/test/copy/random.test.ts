import { describe, inject, test } from "vitest";
import { house, type Kind } from "./support/houses.ts";
import { playHistory } from "./support/play.ts";

const histories = inject("full") ? 150 : 10;

describe("random histories", () => {
  // oxlint-disable-next-line vitest/expect-expect -- playHistory holds the assertions
  test.each<Kind>(["memory", "sqlite", "folder"])(
    "arrive in %s as they are, also in several copies and after a crash",
    async (kind) => {
      for (let seed = 1; seed <= (kind === "folder" ? histories / 5 : histories); seed++)
        await playHistory(seed, (world) => house(kind, world));
    },
  );
});
