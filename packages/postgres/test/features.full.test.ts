import { storageFeatures, type Open } from "@durable/testing/conformance";
import { afterAll, beforeAll, inject } from "vitest";
import { openSchema } from "./support/open.ts";
import { startPooler, type Pooler } from "./support/pooler.ts";

const on =
  (url: () => string): Open =>
  ({ now }) => {
    const { open, close } = openSchema(url());
    return Promise.resolve({
      storage: open({ now }),
      reopen: () => Promise.resolve(open({ now })),
      close,
    });
  };

let pooler: Pooler;
beforeAll(async () => void (pooler = await startPooler(inject("postgres"), 12)));
afterAll(() => pooler.close());

storageFeatures(
  "PostgresStorage",
  on(() => inject("postgres")),
);
storageFeatures(
  "PostgresStorage behind a transaction pooler",
  on(() => pooler.url),
);
