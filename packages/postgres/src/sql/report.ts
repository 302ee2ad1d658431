/** Reports: a column that no index has, and the append that changes it. */

import { planned, wholeArguments } from "./append.ts";

/** The names of the arguments, in their order. */
const passed = wholeArguments
  .split(",")
  .map((argument) => argument.trim().split(" ")[0])
  .join(", ");

/** An append that changes no report does not come here, so that it costs no more than before. */
export const reportFunctions = (schema: string): string => `
ALTER TABLE ${schema}.runs ADD COLUMN report text COLLATE "C";

CREATE FUNCTION ${schema}.append_reported_1(${wholeArguments}, of_report text) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  reason text;
BEGIN
  reason := ${schema}.append_whole_1(${passed});
  IF reason IS NULL THEN UPDATE ${schema}.runs SET report = of_report WHERE locator = at_locator; END IF;
  RETURN reason;
END $$;
`;
