/** Items in their order, found by halving. Items must not be equal to each other. Proven by the conformance suite. */

export class Sorted<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  /** The items after this one; all of them after `null`. */
  *after(item: T | null): Generator<T> {
    let at = item === null ? 0 : this.#place(item);
    if (item !== null && at < this.#items.length && this.#compare(this.#items[at] as T, item) === 0) at += 1;
    for (; at < this.#items.length; at++) yield this.#items[at] as T;
  }

  add(item: T): void {
    this.#items.splice(this.#place(item), 0, item);
  }

  delete(item: T): void {
    const at = this.#place(item);
    if (at < this.#items.length && this.#compare(this.#items[at] as T, item) === 0) this.#items.splice(at, 1);
  }

  /** The place of the first item that is not before this one. */
  #place(item: T): number {
    let [low, high] = [0, this.#items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#items[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
