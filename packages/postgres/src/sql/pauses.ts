/** Workflows that are paused. */

export const pausesTable = (schema: string): string => `
CREATE TABLE ${schema}.paused (
  workflow text PRIMARY KEY,
  reason text,
  since float8 NOT NULL
);
`;
