/** What the SQL of functions and statements shares. */

/** Not `extract`, which computes with numbers of any length and takes longer. */
export const serverClock = "date_part('epoch', statement_timestamp()) * 1000";

/** Milliseconds since the epoch, by the clock of the server unless the caller passes its own. */
export const clock = (given: string): string => `coalesce(${given}, ${serverClock})`;

/** Plans of functions are kept: one made while a table was small must not scan it once it is large. */
export const planned = "SET enable_seqscan = off";
