/** One connection to Postgres. The package is loaded by name, because only this folder and the storage have it. */

import { load } from "./engine.ts";

export interface Query {
  /** Prepares the statement under this name. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

export interface Client {
  connect(): Promise<void>;
  query(query: Query): Promise<{ readonly rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
}

type Pg = { readonly default: { readonly Client: new (config: { connectionString: string }) => Client } };

export async function connect(url: string): Promise<Client> {
  const { default: pg } = await load<Pg>("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
