/** The limits of the library. Crossing one is an error with a code that names the run and the step. */
export const limits = {
  /** Size of one value as text, with bytes counted as they are: an input, the output of a step, an answer. */
  valueBytes: 32 * 1024 * 1024,
  /** Nesting of one value. `JSON.stringify` itself fails from about 10,000. */
  valueDepth: 256,
  /** Entries of one append; the rest waits for the next one. */
  batchEntries: 1_000,
  /** Encoded size at which a batch is closed. A single larger entry is still written, alone. */
  batchBytes: 16 * 1024 * 1024,
  /** Chunks at which one entry of a stream is closed. */
  chunksPerEntry: 256,
  /** Encoded size of chunks at which one entry of a stream is closed. */
  chunkBytes: 64 * 1024,
  /** Chunks of one attempt of a stream. */
  streamChunks: 1_000_000,
  /** Encoded size of all chunks of one attempt of a stream. */
  streamBytes: 64 * 1024 * 1024,
  /** Characters of the name of a workflow, step, wait, group or branch. */
  nameLength: 128,
  /** Characters of a key. */
  keyLength: 1_024,
  /** Suspend points open at the same time in one run. A larger number blocks the run. */
  openWaits: 10_000,
  /** Answers to one suspend point that are recorded and not checked yet. */
  pendingAnswers: 100,
  /** Branches of one group, and items of one `ctx.map`. */
  branches: 10_000,
  /** Attempts of one step or stream. */
  attempts: 1_000,
  /** Encoded size of the note of a suspend point. */
  noteBytes: 64 * 1024,
  /** Encoded size of one message. */
  messageBytes: 64 * 1024,
  /** Messages of one run that no receive has read yet. */
  unreadMessages: 1_000,
  /** Ids of messages that a chapter knows of the chapters before it: the latest ones. */
  messageIds: 500,
  /** Characters of the id of a message. */
  messageIdLength: 256,
  /** Encoded size of a report. */
  reportBytes: 4 * 1024,
  /** Characters of a stack trace that are kept. */
  stackLength: 8_192,
  /** Nested causes of an error that are kept; a text stands for the rest. */
  causeDepth: 16,
  /** Runs on one page of a list; a larger `limit` counts as this one. */
  listPage: 1_000,
  /** Characters of the label of a fork. */
  labelLength: 256,
  /** Tags of one run. */
  tags: 16,
  /** Characters of the name of a tag. */
  tagName: 64,
  /** Characters of the value of a tag. */
  tagValue: 256,
  /** Scores of one run. */
  scores: 32,
  /** Characters of the note of a score. */
  scoreNote: 16_000,
} as const;

/** How much is done in one go. Tests make these numbers small, so that they come to what lies beyond one go. */
export const atOnce = {
  /** Runs, or schedules, on one page, where all of them are read. */
  listed: limits.listPage,
  /** Runs of which a purge asks for the heads. */
  purgePage: 500,
  /** Runs that a purge deletes in one commit, so that others wait for a short time only. */
  purged: 100,
  /** Journals that a purge opens. */
  purgeReads: 16,
  /** Ancestors that a fork names, besides the one that stands for all before it. */
  ancestors: 16,
  /** Sleepers of a workflow that a claim of SQLite wakes, so that it holds the file for a short time. */
  wakeUps: 1_000,
  /** Keys of a bucket that one request deletes. */
  bucketKeys: 1_000,
};
