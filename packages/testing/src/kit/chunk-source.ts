/**
 * A source of chunks whose pulls go through a function of the caller, because a stream does its work while it
 * is read. Proven in test/kit-parts.test.ts.
 */

type Source = AsyncIterable<unknown> | Iterable<unknown>;
type Pulled = IteratorResult<unknown, unknown>;

/** True for values that a stream can read chunks from. */
export function isSource(value: unknown): value is Source {
  if (typeof value === "string") return true;
  return (
    typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)
  );
}

/** The same chunks; `by` makes each pull, and may hold it back forever. */
export function pulled(source: Source, by: (pull: () => unknown) => unknown): AsyncIterable<unknown> {
  const settle = async (pull: () => Pulled | Promise<Pulled>): Promise<Pulled> => {
    const { done, value } = (await by(pull)) as Pulled;
    // Lists may hold promises; a reader gets their values.
    return done === true ? { done, value } : { done: false, value: await value };
  };
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = iteratorOf(source);
      const end: Pulled = { done: true, value: undefined };
      return {
        next: () => settle(() => iterator.next()),
        return: () => settle(() => iterator.return?.() ?? end),
      };
    },
  };
}

function iteratorOf(source: Source): AsyncIterator<unknown> | Iterator<unknown> {
  const { [Symbol.asyncIterator]: async } = source as Partial<AsyncIterable<unknown>>;
  return async?.call(source) ?? (source as Iterable<unknown>)[Symbol.iterator]();
}
