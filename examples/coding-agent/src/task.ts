/** The task of the agent. */

export const task = [
  "Write an ES module that exports pages(text, last): what somebody means in a print dialog.",
  'text lists pages and ranges: "1-3, 7". last is the number of the last page.',
  "Give the pages in rising order, none of them twice, and none that is not there.",
  'Ranges may be backwards ("6-4"), open at the end ("8-") or at the start ("-3").',
  "Empty items are passed over. Anything else is a RangeError.",
].join("\n");
