/** The size of each table and index of the storage, for measurements. */

import { Client } from "pg";

export async function sizes(url: string): Promise<{ readonly name: string; readonly bytes: number }[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_relation_size(pg_class.oid) AS bytes FROM pg_class
       JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'durable' AND relkind IN ('r', 'i')`,
  );
  await client.end();
  return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }));
}
