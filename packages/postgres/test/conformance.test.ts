import { storageConformance } from "@durable/testing/conformance";
import { inject } from "vitest";
import { openSchema } from "./support/open.ts";

storageConformance("PostgresStorage", ({ now }) => {
  const place = openSchema(inject("postgres"));
  return Promise.resolve({
    storage: place.open({ now }),
    reopen: () => Promise.resolve(place.open({ now })),
    close: () => place.close(),
  });
});
