/** The page of the documentation that says which storage has which feature, from what the suite runs on each. */

import type { Storage } from "@durable/core";
import { claims, type Feature } from "./feature.ts";

/** A column: a storage, and the test file that runs the suite on it. */
export interface Column {
  readonly title: string;
  readonly storage: Storage;
  readonly test: string;
}

const heading = `# Features by storage

Which feature works on which storage? This page is generated: \`npm run docs:features\` writes it, and a test compares it with
the suite.

The suite of features runs short programs of an app on every storage. Where a storage has a feature, its programs must keep
their promises. Where it has not, the storage must refuse it by name, with \`invalid-options\`, before anything is recorded.
`;

const footing = `
Postgres runs the suite under the [role of an application](../../packages/postgres/README.md#roles), as the owner of the tables,
and behind a transaction pooler. Folder, S3 and R2 are buckets of \`RemoteStorage\`.

A storage of your own claims a feature by the [member of the port](../concepts/storage.md#optional-members) in the last column.
[Testing a storage](../guides/test/testing-a-storage.md#features) shows how to run the suite on it.
`;

export function featurePage(features: readonly Feature[], columns: readonly Column[]): string {
  const rows = features.map((feature) => [
    `[${feature.name}](../${feature.page})`,
    ...columns.map(({ storage }) => (claims(storage, feature) ? "yes" : (feature.otherwise ?? "refused"))),
    feature.needs === undefined ? "" : `\`${feature.needs}\``,
  ]);
  const head = ["Feature", ...columns.map(({ title }) => title), "Needs"];
  const lines = [head, head.map(() => "---"), ...rows];
  return `${heading}\n${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n${footing}`;
}
