/** The numbers behind law 10. Crossing one is a typed error that names the run and the step. */
export const limits = {
  /** Encoded size of one value: an input, a step's output, an answer. */
  valueBytes: 32 * 1024 * 1024,
  /** Nesting of one value. JSON.stringify itself gives up from about 10,000. */
  valueDepth: 256,
  /** Entries gathered into one append; what is over waits for the next one. */
  batchEntries: 1_000,
  /** Encoded size at which a batch is closed; a single larger entry still goes alone. */
  batchBytes: 16 * 1024 * 1024,
  /** Chunks of one stream that go into one entry, and what they may weigh. */
  chunksPerEntry: 256,
  chunkBytes: 64 * 1024,
  /** Chunks of one attempt of a stream, and what they may weigh in all. */
  streamChunks: 1_000_000,
  streamBytes: 64 * 1024 * 1024,
  nameLength: 128,
  keyLength: 1_024,
  /** Suspend points open at one time in one run, answers that came early included. */
  openWaits: 10_000,
  branches: 10_000,
  attempts: 1_000,
  noteBytes: 64 * 1024,
  /** A user's stack trace is kept up to this length. */
  stackLength: 8_192,
  causeDepth: 16,
  listPage: 1_000,
  labelLength: 256,
} as const;
