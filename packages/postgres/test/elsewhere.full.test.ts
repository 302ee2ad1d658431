/** What other servers of Postgres may lack or do: the suite of features on each. The page is docs/guides/operate/how-large.md. */

import { storageFeatures } from "@durable/testing/conformance";
import { Client } from "pg";
import { inject } from "vitest";
import { PostgresStorage, type PostgresOptions } from "../src/index.ts";
import { freshSchema } from "./support/open.ts";

const url = inject("postgres");

async function ask(text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

interface Place {
  readonly schema?: string;
  /** Added to the address. */
  readonly settings?: string;
  readonly options?: Partial<PostgresOptions>;
  /** Changes the tables once they are there; `S.` is the schema. */
  readonly after?: string;
}

function features(name: string, make: () => Place): void {
  storageFeatures(`PostgresStorage ${name}`, async ({ now }) => {
    const { schema = freshSchema(), settings = "", options = {}, after } = make();
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    const handles: PostgresStorage[] = [];
    await PostgresStorage.migrate({ url, schema });
    if (after !== undefined) await ask(after.replaceAll("S.", `${quoted}.`));
    const open = (): PostgresStorage => {
      const address = new URL(url);
      if (settings !== "") address.searchParams.set("options", settings);
      const storage = new PostgresStorage({ url: address.href, schema, now, connections: 3, ...options });
      handles.push(storage);
      return storage;
    };
    return {
      storage: open(),
      reopen: () => Promise.resolve(open()),
      close: async () => {
        await Promise.all(handles.map((handle) => handle.close()));
        await ask(`DROP SCHEMA ${quoted} CASCADE`);
      },
    };
  });
}

features("with an empty search_path", () => ({
  schema: `Odd_${freshSchema()}`,
  settings: "-c search_path=",
}));

features("without LISTEN", () => ({ options: { listen: false } }));

features("with partitioned batches", () => ({
  after: `ALTER TABLE S.batches RENAME TO whole;
    ALTER INDEX S.batches_pkey RENAME TO whole_pkey;
    CREATE TABLE S.batches (LIKE S.whole, PRIMARY KEY (run, position)) PARTITION BY HASH (run);
    CREATE TABLE S.batches_0 PARTITION OF S.batches FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE S.batches_1 PARTITION OF S.batches FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    DROP TABLE S.whole;`,
}));

features("whose sessions have a zone and formats of their own", () => ({
  settings: "-c timezone=Asia/Kathmandu -c datestyle=German -c extra_float_digits=0 -c bytea_output=escape",
}));
