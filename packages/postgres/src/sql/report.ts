/** Reports: a column that no index has, and what an append that changes it does in addition. */

import { planned } from "./append.ts";

/** Called with the reply of any function that appends, so that an append without a report costs no more than before. */
export const reportFunctions = (schema: string): string => `
ALTER TABLE ${schema}.runs ADD COLUMN report text COLLATE "C";

CREATE FUNCTION ${schema}.reported_1(reason text, of_locator text, of_report text) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  IF reason IS NULL THEN UPDATE ${schema}.runs SET report = of_report WHERE locator = of_locator; END IF;
  RETURN reason;
END $$;
`;
