/**
 * The tables and indexes of schema 1.
 *
 * tables.1. A run has a number (`id`) of its own incarnation, under which its batches, names and readers are kept. A
 *     deleted id that is used again shares nothing with the earlier run.
 * tables.2. A run is `held` while it has a lease or a quiet time, and `held_until` is not after the end of the later one.
 *     Runs that wait and runs that are driven are in two indexes, so that neither costs the search for the other.
 * tables.3. A run that waits for a time is `asleep` until a claim finds that the time has come. Due runs are taken in the
 *     order of `due_order`: when they became due, less their priority. So runs that wait cost a claim nothing.
 * tables.4. A step of a run that stays under its lease changes no indexed column, so that its update is a cheap (HOT) one.
 * tables.5. All text compares by its bytes.
 */

const runs = (schema: string): string => `
CREATE TABLE ${schema}.runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  locator text COLLATE "C" NOT NULL UNIQUE,
  run_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  parent text COLLATE "C",
  ancestors text COLLATE "C" NOT NULL,
  reads_from text COLLATE "C",
  created_at float8 NOT NULL,
  status text COLLATE "C" NOT NULL,
  wake_at float8,
  due_order float8,
  asleep boolean NOT NULL DEFAULT false,
  fair text COLLATE "C" NOT NULL DEFAULT '',
  updated_at float8 NOT NULL,
  steps int NOT NULL,
  chapter int,
  length int NOT NULL,
  dropped int NOT NULL DEFAULT 0,
  owner text COLLATE "C",
  process text COLLATE "C",
  lease_until float8,
  quiet_until float8 NOT NULL DEFAULT 0,
  held boolean NOT NULL DEFAULT false,
  held_until float8,
  starts int NOT NULL DEFAULT 0,
  starts_at int NOT NULL DEFAULT 0,
  blocked text COLLATE "C",
  deleted boolean NOT NULL DEFAULT false
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX runs_waiting ON ${schema}.runs (workflow, fair, due_order, id)
  WHERE wake_at IS NOT NULL AND NOT asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_asleep ON ${schema}.runs (workflow, wake_at, id)
  WHERE wake_at IS NOT NULL AND asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_held ON ${schema}.runs (workflow, held_until)
  WHERE wake_at IS NOT NULL AND held AND NOT deleted;
CREATE INDEX runs_driven ON ${schema}.runs (process, workflow)
  WHERE wake_at IS NOT NULL AND held AND NOT deleted AND process IS NOT NULL;
CREATE INDEX runs_by_workflow ON ${schema}.runs (workflow, id) WHERE NOT deleted;
CREATE INDEX runs_by_status ON ${schema}.runs (status, id) WHERE NOT deleted AND blocked IS NULL;
CREATE INDEX runs_by_both ON ${schema}.runs (workflow, status, id) WHERE NOT deleted AND blocked IS NULL;
CREATE INDEX runs_blocked ON ${schema}.runs (id) WHERE NOT deleted AND blocked IS NOT NULL;
CREATE INDEX runs_by_parent ON ${schema}.runs (parent, id) WHERE parent IS NOT NULL AND NOT deleted;
`;

const others = (schema: string): string => `
CREATE TABLE ${schema}.batches (
  run bigint NOT NULL,
  position int NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, position)
);

CREATE TABLE ${schema}.chapters (
  run bigint NOT NULL,
  position int NOT NULL,
  PRIMARY KEY (run, position)
);

-- Runs whose batches another run reads.
CREATE TABLE ${schema}.readers (
  ancestor bigint NOT NULL,
  reader bigint NOT NULL,
  reads_from int NOT NULL,
  PRIMARY KEY (ancestor, reader)
);
CREATE INDEX readers_by_reader ON ${schema}.readers (reader);

CREATE TABLE ${schema}.blobs (
  name text COLLATE "C" PRIMARY KEY,
  body text COLLATE "C" NOT NULL
);

-- The first batch of each chapter of a run that names a blob.
CREATE TABLE ${schema}.named (
  run bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  position int NOT NULL,
  PRIMARY KEY (run, name, position)
);
CREATE INDEX named_by_name ON ${schema}.named (name);
CREATE INDEX named_by_run ON ${schema}.named (run, position);
`;

export const tables = (schema: string): string => runs(schema) + others(schema);
