/**
 * The tables and indexes.
 *
 * tables.1. A run has a number (`id`) of its own incarnation, under which its batches, names and readers are kept. A
 *     deleted id that is used again shares nothing with the earlier run.
 *     It is also its place in the order of creation, by which lists are sorted.
 * tables.2. A run is `held` while it has a lease or a quiet time, and `held_until` is not after the end of the later one.
 *     Runs that wait and runs that are driven are in two indexes, so that neither costs the search for the other.
 * tables.3. A run that waits for a time is `asleep` until a claim finds that the time has come. Due runs are taken in the
 *     order of `due_order`: when they became due, less their priority. So runs that wait cost a claim nothing.
 * tables.4. A step of a run that stays under its lease changes no indexed column, so that its update is a cheap (HOT) one.
 *     Nor does the lease that follows a claim: a short run is put into its indexes when it starts, is claimed and ends.
 * tables.5. All text compares by its bytes.
 * tables.6. `ended_at` stays NULL until a run ends, so that the steps of a run change no index. A trigger keeps it.
 * tables.7. `waits_at` is when the first open wait of a run expires. It changes only when waits are opened or settled.
 * tables.8. A list by workflow, status, or both goes through the parts of one index (`runs_by_workflow`), a part for each
 *     workflow and status. Any other update than a cheap one writes to each index that has the run, so there are few of them.
 * tables.9. Space of deleted rows is used again after a vacuum. Autovacuum comes when a twentieth of a table is gone, not a
 *     fifth, so that a table that is purged regularly does not grow.
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
  report text COLLATE "C",
  marks text COLLATE "C",
  waits_at float8,
  tags text COLLATE "C",
  version text COLLATE "C",
  flow text COLLATE "C",
  slot text COLLATE "C",
  singleton text COLLATE "C",
  claimed_until float8,
  ended_at float8,
  deleted boolean NOT NULL DEFAULT false
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
`;

const indexes = (schema: string): string => `
CREATE INDEX runs_waiting ON ${schema}.runs (workflow, fair, due_order, id)
  WHERE wake_at IS NOT NULL AND NOT asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_asleep ON ${schema}.runs (workflow, wake_at, id)
  WHERE wake_at IS NOT NULL AND asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_held ON ${schema}.runs (workflow, held_until)
  WHERE wake_at IS NOT NULL AND held AND NOT deleted;
CREATE INDEX runs_driven ON ${schema}.runs (process, workflow)
  WHERE wake_at IS NOT NULL AND held AND NOT deleted AND process IS NOT NULL;
CREATE INDEX runs_by_workflow ON ${schema}.runs (workflow, status, id) WHERE NOT deleted;
CREATE INDEX runs_blocked ON ${schema}.runs (id) WHERE NOT deleted AND blocked IS NOT NULL;
CREATE INDEX runs_asking ON ${schema}.runs (waits_at, id) WHERE waits_at IS NOT NULL AND NOT deleted;
CREATE INDEX runs_by_parent ON ${schema}.runs (parent, id) WHERE parent IS NOT NULL AND NOT deleted;
CREATE INDEX runs_by_run_id ON ${schema}.runs (run_id) WHERE NOT deleted;
CREATE INDEX runs_by_label ON ${schema}.runs (label) WHERE label IS NOT NULL AND NOT deleted;
CREATE INDEX runs_by_version ON ${schema}.runs (version, id) WHERE version IS NOT NULL AND NOT deleted;
CREATE INDEX runs_waiting_by_version ON ${schema}.runs (workflow, version, fair, due_order, id)
  WHERE version IS NOT NULL AND wake_at IS NOT NULL AND NOT asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_asleep_by_version ON ${schema}.runs (workflow, version, wake_at, id)
  WHERE version IS NOT NULL AND wake_at IS NOT NULL AND asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_ended ON ${schema}.runs (workflow, status, ended_at, id) WHERE ended_at IS NOT NULL AND NOT deleted;
CREATE INDEX runs_by_slot ON ${schema}.runs (workflow, fair, slot, due_order, id)
  WHERE slot IS NOT NULL AND wake_at IS NOT NULL AND NOT asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_in_slots ON ${schema}.runs (workflow, slot) WHERE slot IS NOT NULL AND held AND NOT deleted;
CREATE INDEX runs_by_singleton ON ${schema}.runs (workflow, singleton)
  WHERE singleton IS NOT NULL AND status IN ('running', 'suspended', 'paused') AND NOT deleted;
`;

const hasEnded = (status: string): string => `${status} IN ('completed', 'failed', 'cancelled')`;

const ends = (schema: string): string => `
CREATE FUNCTION ${schema}.keep_end() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.ended_at := CASE WHEN ${hasEnded("NEW.status")} THEN NEW.updated_at END;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_end BEFORE UPDATE OF status ON ${schema}.runs FOR EACH ROW
  WHEN (${hasEnded("NEW.status")} OR OLD.ended_at IS NOT NULL) EXECUTE FUNCTION ${schema}.keep_end();
CREATE TRIGGER runs_begin_ended BEFORE INSERT ON ${schema}.runs FOR EACH ROW
  WHEN (${hasEnded("NEW.status")}) EXECUTE FUNCTION ${schema}.keep_end();
`;

/** Runs of one millisecond that have places of their own. */
const placesOfMs = 2048;

/** The first number of a run that was created at a time. */
export const placeOf = (time: string): string =>
  `(least(greatest(floor(${time}), 0), 4e12)::bigint * ${placesOfMs})`;

/** The number of a run is its place in the order of creation; runs may be added in another one, as by a copy. */
const places = (schema: string): string => `
CREATE FUNCTION ${schema}.place() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := ${placeOf("NEW.created_at")} + NEW.id % ${placesOfMs};
  WHILE EXISTS (SELECT FROM ${schema}.runs r WHERE r.id = NEW.id) LOOP NEW.id := NEW.id + ${placesOfMs}; END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_placed BEFORE INSERT ON ${schema}.runs FOR EACH ROW EXECUTE FUNCTION ${schema}.place();
`;

const vacuum = "autovacuum_vacuum_scale_factor = 0.05";

const journals = (schema: string): string => `
CREATE TABLE ${schema}.batches (
  run bigint NOT NULL,
  position int NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, position)
) WITH (${vacuum}, toast.${vacuum});

CREATE TABLE ${schema}.chapters (
  run bigint NOT NULL,
  position int NOT NULL,
  PRIMARY KEY (run, position)
) WITH (${vacuum});

-- Runs whose batches another run reads.
CREATE TABLE ${schema}.readers (
  ancestor bigint NOT NULL,
  reader bigint NOT NULL,
  reads_from int NOT NULL,
  PRIMARY KEY (ancestor, reader)
) WITH (${vacuum});
CREATE INDEX readers_by_reader ON ${schema}.readers (reader);

CREATE TABLE ${schema}.blobs (
  name text COLLATE "C" PRIMARY KEY,
  body text COLLATE "C" NOT NULL
) WITH (${vacuum}, toast.${vacuum});

-- The first batch of each chapter of a run that names a blob.
CREATE TABLE ${schema}.named (
  run bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  position int NOT NULL,
  PRIMARY KEY (run, name, position)
) WITH (${vacuum});
CREATE INDEX named_by_name ON ${schema}.named (name);
CREATE INDEX named_by_run ON ${schema}.named (run, position);
`;

const others = (schema: string): string => `
CREATE TABLE ${schema}.tags (
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  PRIMARY KEY (name, value, run)
);
CREATE INDEX tags_by_value ON ${schema}.tags (value, run);

CREATE TABLE ${schema}.limit_texts (
  name text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL,
  until float8 NOT NULL
) WITH (fillfactor = 50, ${vacuum});
CREATE INDEX limit_texts_by_end ON ${schema}.limit_texts (until);

CREATE TABLE ${schema}.paused (
  workflow text PRIMARY KEY,
  reason text,
  since float8 NOT NULL
);

CREATE TABLE ${schema}.turns (
  name text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  until float8 NOT NULL
);
`;

export const tables = (schema: string): string =>
  [runs, indexes, places, ends, journals, others].map((text) => text(schema)).join("");
