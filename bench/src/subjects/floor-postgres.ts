/** The least that a journal in Postgres can do: one INSERT per commit, on one connection. A resume reads and parses all rows. */

import type { SubjectModule } from "../engine.ts";
import { connect } from "../pg-client.ts";
import { entryText } from "./floor-entry.ts";

export const open: SubjectModule["open"] = async ({ postgres }, marks) => {
  const client = await connect(postgres);
  await client.query({
    text: `CREATE TABLE IF NOT EXISTS journal (run TEXT, position INTEGER, body TEXT NOT NULL,
      PRIMARY KEY (run, position))`,
  });
  const insert = async (id: string, i: number): Promise<void> => {
    await client.query({
      name: "insert",
      text: "INSERT INTO journal (run, position, body) VALUES ($1, $2, $3)",
      values: [id, i, entryText(i)],
    });
  };
  const write = async (id: string, steps: number): Promise<void> => {
    marks.begin();
    for (let i = 0; i < steps; i++) await insert(id, i);
    marks.end();
  };
  return {
    run: ({ id, steps }) => write(id, steps),
    wait: async ({ id, steps }) => {
      await write(id, steps);
      return id;
    },
    answer: async (id) => {
      await insert(id, 1_000_000);
      const text = "SELECT body FROM journal WHERE run = $1 ORDER BY position";
      for (const { body } of (await client.query({ text, values: [id] })).rows) JSON.parse(String(body));
      marks.body();
    },
    close: () => client.end(),
  };
};
