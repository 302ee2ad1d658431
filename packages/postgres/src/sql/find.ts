/**
 * Schema 2: tags and versions of runs, and the indexes by which lists and claims find them.
 *
 * find-sql.1. Tags are in a table of their own, in the order of lists. The row of a run has them as one text that is in no
 *     index, so that a step stays a cheap (HOT) update.
 * find-sql.2. Tags and versions are written with the first batch, with one that begins a chapter, and with one whose tags
 *     are new. Any other append does not look at them.
 * find-sql.3. Functions of schema 1 stay right: a trigger removes the tags of what they delete.
 */

import { common, create, growSlotted, planned, rest, whole } from "./append.ts";

const tables = (schema: string): string => `
ALTER TABLE ${schema}.runs ADD COLUMN tags text COLLATE "C", ADD COLUMN version text COLLATE "C";

CREATE TABLE ${schema}.tags (
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  PRIMARY KEY (name, value, run)
);
CREATE INDEX tags_by_value ON ${schema}.tags (value, run);

CREATE INDEX runs_by_run_id ON ${schema}.runs (run_id) WHERE NOT deleted;
CREATE INDEX runs_by_label ON ${schema}.runs (label) WHERE label IS NOT NULL AND NOT deleted;
CREATE INDEX runs_by_created ON ${schema}.runs (created_at, workflow) WHERE NOT deleted;
CREATE INDEX runs_by_version ON ${schema}.runs (version, id) WHERE version IS NOT NULL AND NOT deleted;
CREATE INDEX runs_waiting_by_version ON ${schema}.runs (workflow, version, fair, due_order, id)
  WHERE version IS NOT NULL AND wake_at IS NOT NULL AND NOT asleep AND NOT held AND NOT deleted;
CREATE INDEX runs_asleep_by_version ON ${schema}.runs (workflow, version, wake_at, id)
  WHERE version IS NOT NULL AND wake_at IS NOT NULL AND asleep AND NOT held AND NOT deleted;
`;

/** Rows of tags are found by the text that made them. */
const setTags = (schema: string): string => `
CREATE FUNCTION ${schema}.set_tags_1(of_run bigint, before text, after text) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  IF before IS NOT NULL THEN
    DELETE FROM ${schema}.tags t USING json_each_text(before::json) AS k (key, value)
      WHERE t.name = k.key AND t.value = k.value AND t.run = of_run;
  END IF;
  IF after IS NOT NULL THEN
    INSERT INTO ${schema}.tags (name, value, run)
      SELECT k.key, k.value, of_run FROM json_each_text(after::json) AS k (key, value);
  END IF;
END $$;

CREATE FUNCTION ${schema}.untag_1() RETURNS trigger
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  PERFORM ${schema}.set_tags_1(OLD.id, OLD.tags, NULL);
  IF TG_OP = 'UPDATE' THEN NEW.tags := NULL; RETURN NEW; END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER runs_untagged BEFORE UPDATE OF deleted ON ${schema}.runs
  FOR EACH ROW WHEN (NEW.deleted AND OLD.tags IS NOT NULL) EXECUTE FUNCTION ${schema}.untag_1();
CREATE TRIGGER runs_gone_untagged BEFORE DELETE ON ${schema}.runs
  FOR EACH ROW WHEN (OLD.tags IS NOT NULL) EXECUTE FUNCTION ${schema}.untag_1();
`;

/** What comes with a batch in addition to `rest`. */
const keepTags = (schema: string): string => `
  IF at_position = 0 THEN
    IF of_tags IS NOT NULL THEN PERFORM ${schema}.set_tags_1(run_number, NULL, of_tags); END IF;
  ELSIF new_tags OR at_chapter = at_position THEN
    SELECT tags INTO before FROM ${schema}.runs WHERE id = run_number;
    UPDATE ${schema}.runs SET tags = of_tags, version = of_version
      WHERE id = run_number AND (tags IS DISTINCT FROM of_tags OR version IS DISTINCT FROM of_version);
    IF before IS DISTINCT FROM of_tags THEN PERFORM ${schema}.set_tags_1(run_number, before, of_tags); END IF;
  END IF;`;

const appendWhole = (schema: string): string =>
  whole(schema, {
    name: "append_whole_2",
    args: common(false),
    more: ", of_version text, of_tags text, new_tags boolean",
    declare: "\n  before text;",
    create: create(schema, { columns: ", version, tags", values: ", of_version, of_tags" }),
    // The column `slot` comes with the step of limits, in the same transaction.
    grow: growSlotted(schema),
    rest: rest(schema) + keepTags(schema),
  });

/** Runs that have not ended get the version that their journals have. A text that cannot be read is left alone. */
const versions = (schema: string): string => `
DO $$
DECLARE
  live record;
BEGIN
  FOR live IN SELECT r.id, b.body FROM ${schema}.runs r
    JOIN ${schema}.batches b ON b.run = r.id AND b.position = coalesce(r.chapter, 0)
    WHERE r.wake_at IS NOT NULL AND NOT r.deleted AND b.body LIKE '%"version":"%'
  LOOP
    BEGIN
      UPDATE ${schema}.runs SET version = live.body::json #>> '{entries,0,version}' WHERE id = live.id;
    EXCEPTION WHEN others THEN NULL;
    END;
  END LOOP;
END $$;
`;

export const findStep = (schema: string): string =>
  [tables, setTags, appendWhole, versions].map((text) => text(schema)).join("");
