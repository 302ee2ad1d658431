/** What a step or stream says about a name that comes from its content. The rules are in changes.ts. */

/** A recorded outcome that the code has not asked for. */
export interface Unclaimed {
  readonly key: string;
  readonly name: string;
  /** The recorded value: the chunks of a stream, `undefined` for a failure. */
  readonly value: () => unknown;
}

/** For a step or stream whose name comes from its content, so that other content gives another name. */
export interface ByContent {
  /** True for the names of such calls. */
  readonly isOne: (name: string) => boolean;
  /**
   * Called when there is no record, but recorded calls of the branch are unclaimed: the code was changed.
   * Returns the key of the one whose outcome this call takes over, or `null` to do the work. Throws a
   * `DurableError` to block the run. `calls` is how many calls of the branch are in this situation.
   */
  readonly choose: (unclaimed: readonly Unclaimed[], calls: number) => string | null;
}
