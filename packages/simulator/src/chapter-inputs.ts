/**
 * The inputs of chapters. A generated run that continues passes on the number of its next chapter and what
 * the earlier ones have returned. Proven in test/sim.test.ts.
 */

export interface ChapterInput {
  /** What the run was started with. */
  readonly given: unknown;
  /** Counts from 1. */
  readonly chapter: number;
  /** The values of earlier chapters as text. */
  readonly carried: string;
}

/** Longer than what is kept out of a batch as a blob, and shorter than any limit. */
const mostCarried = 30_000;

/** The input of any chapter: the first has that of its run. */
export function chapterIn(input: unknown): ChapterInput {
  const { chapter, carried } = (input ?? {}) as Partial<ChapterInput>;
  return typeof chapter === "number" && typeof carried === "string"
    ? (input as ChapterInput)
    : { given: input, chapter: 1, carried: "" };
}

/** What a chapter passes on: all that was passed to it, and its own value. */
export function carriedOn(carried: string, value: unknown): string {
  return `${carried}${JSON.stringify(value) ?? "nothing"}\n`.slice(-mostCarried);
}
