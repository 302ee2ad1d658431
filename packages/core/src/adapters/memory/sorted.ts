/**
 * Items in their order, in blocks, so that adding and deleting one costs little among many. Items must not be equal to each
 * other. Proven by the conformance suite.
 */

/** A block that grows beyond it is cut in two. */
const longest = 512;

export class Sorted<T> {
  /** None is empty. */
  readonly #blocks: T[][] = [];
  readonly #compare: (a: T, b: T) => number;
  #size = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#blocks[0]?.[0];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.after(null);
  }

  /** The items after this one; all of them after `null`. */
  *after(item: T | null): Generator<T> {
    let [at, place] = item === null ? [0, 0] : this.#find(item);
    if (item !== null && this.#isAt(at, place, item)) place += 1;
    for (; at < this.#blocks.length; at++, place = 0) {
      const block = this.#blocks[at] as T[];
      for (; place < block.length; place++) yield block[place] as T;
    }
  }

  add(item: T): void {
    const [at, place] = this.#find(item);
    const block = this.#blocks[at];
    this.#size += 1;
    if (block === undefined) return void this.#blocks.push([item]);
    block.splice(place, 0, item);
    if (block.length > longest) this.#blocks.splice(at + 1, 0, block.splice(longest / 2));
  }

  delete(item: T): void {
    const [at, place] = this.#find(item);
    if (!this.#isAt(at, place, item)) return;
    const block = this.#blocks[at] as T[];
    block.splice(place, 1);
    this.#size -= 1;
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  #isAt(at: number, place: number, item: T): boolean {
    const found = this.#blocks[at]?.[place];
    return found !== undefined && this.#compare(found, item) === 0;
  }

  /** The block and the place of the first item that is not before this one; the end of the last block if there is none. */
  #find(item: T): [at: number, place: number] {
    const last = this.#blocks.length - 1;
    const at = Math.min(
      lowest(this.#blocks.length, (n) => this.#compare(this.#blocks[n]?.at(-1) as T, item) < 0),
      Math.max(0, last),
    );
    const block = this.#blocks[at] ?? [];
    return [at, lowest(block.length, (n) => this.#compare(block[n] as T, item) < 0)];
  }
}

/** The lowest number that is not before, by halving. */
function lowest(size: number, isBefore: (n: number) => boolean): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
