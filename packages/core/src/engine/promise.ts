/** A promise with its handles, already handled: a failure nobody awaits yet is no unhandled rejection. */

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** What a suspended, closed or stopped call returns: it never settles, so no catch or finally sees it. */
export function pending<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
