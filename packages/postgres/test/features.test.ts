import { storageFeatures } from "@durable/testing/conformance";
import { inject } from "vitest";
import { openGranted } from "./support/roles.ts";

// The role has the rights of `migrate({ grantTo })` alone. As the owner, and behind a pooler: features.full.test.ts.
storageFeatures("PostgresStorage under the role of an application", async ({ now }) => {
  const { open, close } = await openGranted(inject("postgres"));
  return { storage: open({ now }), reopen: () => Promise.resolve(open({ now })), close };
});
