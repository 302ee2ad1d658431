/**
 * Tags of runs.
 *
 * tags-sql.1. Tags are in a table of their own, in the order of lists. The row of a run has them as one text that is in no
 *     index, so that a step stays a cheap (HOT) update.
 * tags-sql.2. Tags and versions are written with the first batch, with one that begins a chapter, and with one whose tags
 *     are new. Any other append does not read them.
 */

import { planned } from "./clock.ts";

/** Rows of tags are found by the text that made them. */
export const tagFunctions = (schema: string): string => `
CREATE FUNCTION ${schema}.set_tags(of_run bigint, before text, after text) RETURNS void
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

CREATE FUNCTION ${schema}.untag() RETURNS trigger
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  PERFORM ${schema}.set_tags(OLD.id, OLD.tags, NULL);
  IF TG_OP = 'UPDATE' THEN NEW.tags := NULL; RETURN NEW; END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER runs_untagged BEFORE UPDATE OF deleted ON ${schema}.runs
  FOR EACH ROW WHEN (NEW.deleted AND OLD.tags IS NOT NULL) EXECUTE FUNCTION ${schema}.untag();
CREATE TRIGGER runs_gone_untagged BEFORE DELETE ON ${schema}.runs
  FOR EACH ROW WHEN (OLD.tags IS NOT NULL) EXECUTE FUNCTION ${schema}.untag();
`;

/** What an append does with them. */
export const keepTags = (schema: string): string => `
  IF at_position = 0 THEN
    IF of_tags IS NOT NULL THEN PERFORM ${schema}.set_tags(run_number, NULL, of_tags); END IF;
  ELSIF new_tags OR at_chapter = at_position THEN
    SELECT tags INTO before FROM ${schema}.runs WHERE id = run_number;
    UPDATE ${schema}.runs SET tags = of_tags, version = of_version
      WHERE id = run_number AND (tags IS DISTINCT FROM of_tags OR version IS DISTINCT FROM of_version);
    IF before IS DISTINCT FROM of_tags THEN PERFORM ${schema}.set_tags(run_number, before, of_tags); END IF;
  END IF;`;
