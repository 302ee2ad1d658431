/** The table of schedules, and the functions that change it. They wait for the disk, whatever the role is set to. */

const isDurable = "PERFORM set_config('synchronous_commit', 'on', true);";

export const schedules = (schema: string): string => `
CREATE TABLE ${schema}.schedules (
  name text COLLATE "C" PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  due_at float8,
  version text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
);
CREATE INDEX schedules_due ON ${schema}.schedules (due_at, name) WHERE due_at IS NOT NULL;

-- Writes a schedule whose version is as expected; without one, a schedule of a new name.
CREATE FUNCTION ${schema}.put_schedule(
  of_name text, of_workflow text, due float8, next_version text, new_body text, expected text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  ${isDurable}
  IF expected IS NULL THEN
    INSERT INTO ${schema}.schedules VALUES (of_name, of_workflow, due, next_version, new_body) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE ${schema}.schedules s SET workflow = of_workflow, due_at = due, version = next_version, body = new_body
      WHERE s.name = of_name AND s.version = expected;
  END IF;
  RETURN FOUND;
END $$;

CREATE FUNCTION ${schema}.delete_schedule(of_name text, expected text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  ${isDurable}
  DELETE FROM ${schema}.schedules s WHERE s.name = of_name AND s.version = expected;
  RETURN FOUND;
END $$;
`;

/** A page of schedules: workflows ($1, null for all), due time ($2, null for all), the name before the page, the limit. */
export const listSchedulesText = (schema: string, isDue: boolean): string => `
SELECT name, workflow, due_at, version, body FROM ${schema}.schedules
  WHERE ($1::text[] IS NULL OR workflow = ANY ($1)) AND ${isDue ? "due_at IS NOT NULL AND due_at <= $2::float8" : "name > $2"}
  ORDER BY ${isDue ? "due_at, name" : "name"} LIMIT $3`;
