import { storageConformance } from "@durable/testing/conformance";
import { inject } from "vitest";
import { checks } from "../../testing/src/conformance/checks.ts";
import { openSchema } from "./support/open.ts";

/** Those that write most. */
const long = /32 MiB|thousand|many runs of a slot|page by page/;
/** What a server can get wrong by itself: calls at the same time, strange texts, and what is a hazard. */
const isOwn = (title: string): boolean =>
  /at once|at the same|exactly one|hostile|second handle|\(H/.test(title);

// A sample has those of the server, and one in three of the others, so that every operation is there.
const left = [...checks.keys()].filter((title, n) => long.test(title) || (n % 3 !== 0 && !isOwn(title)));
const skip = inject("full") ? [] : left.map((test) => ({ test, reason: "it is not in the sample" }));

storageConformance(
  "PostgresStorage",
  ({ now }) => {
    const place = openSchema(inject("postgres"));
    return Promise.resolve({
      storage: place.open({ now }),
      reopen: () => Promise.resolve(place.open({ now })),
      close: () => place.close(),
    });
  },
  { skip },
);
