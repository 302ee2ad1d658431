/**
 * A queue that gives out the item with the lowest rank first, and items of equal rank in the order in which they were
 * added. Each operation costs the logarithm of the number of items.
 */

interface Ranked<T> {
  readonly rank: number;
  readonly order: number;
  readonly item: T;
}

export class Heap<T> {
  /** The node at `i` comes before the nodes at `2i + 1` and `2i + 2`. */
  readonly #nodes: Ranked<T>[] = [];
  #order = 0;

  /** The item that `pop` takes next, with its rank. */
  get first(): Ranked<T> | undefined {
    return this.#nodes[0];
  }

  push(rank: number, item: T): void {
    const nodes = this.#nodes;
    const node = { rank, order: this.#order++, item };
    let at = nodes.push(node) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(node, nodes[above]); above = (at - 1) >> 1) {
      nodes[at] = nodes[above] as Ranked<T>;
      at = above;
    }
    nodes[at] = node;
  }

  /** Takes the first item out. */
  pop(): T | undefined {
    const nodes = this.#nodes;
    const first = nodes[0];
    const last = nodes.pop();
    if (last === undefined || nodes.length === 0) return first?.item;
    let at = 0;
    for (let below = 1; below < nodes.length; below = 2 * at + 1) {
      if (isBefore(nodes[below + 1], nodes[below])) below += 1;
      if (isBefore(last, nodes[below])) break;
      nodes[at] = nodes[below] as Ranked<T>;
      at = below;
    }
    nodes[at] = last;
    return first?.item;
  }
}

/** A place after the last node counts as a node that comes after all others. */
function isBefore(one: Ranked<unknown> | undefined, other: Ranked<unknown> | undefined): boolean {
  if (one === undefined || other === undefined) return other === undefined;
  return one.rank < other.rank || (one.rank === other.rank && one.order < other.order);
}
