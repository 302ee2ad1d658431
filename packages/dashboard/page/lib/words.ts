/** The difference of two texts, word by word. */

export interface Piece {
  readonly text: string;
  readonly change: "same" | "gone" | "new";
}

/** A longer comparison is not worth its time: such texts are shown as wholly different. */
const mostCells = 4_000_000;

/** What to show of the text before, and of the text after. */
export function wordDiff(before: string, after: string): { before: Piece[]; after: Piece[] } {
  const [a, b] = [words(before), words(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const kept = left.length * right.length > mostCells ? [] : common(left, right);
  const head = a.slice(0, start).join("");
  const tail = a.slice(a.length - end).join("");
  return {
    before: joined([
      piece(head, "same"),
      ...pieces(
        left,
        kept.map(([i]) => i),
        "gone",
      ),
      piece(tail, "same"),
    ]),
    after: joined([
      piece(head, "same"),
      ...pieces(
        right,
        kept.map(([, j]) => j),
        "new",
      ),
      piece(tail, "same"),
    ]),
  };
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

const piece = (text: string, change: Piece["change"]): Piece => ({ text, change });

/** The longest common subsequence, as pairs of positions. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return pairs;
}

function pieces(parts: readonly string[], kept: readonly number[], change: Piece["change"]): Piece[] {
  const same = new Set(kept);
  return parts.map((text, i) => piece(text, same.has(i) ? "same" : change));
}

function joined(all: readonly Piece[]): Piece[] {
  const result: { text: string; change: Piece["change"] }[] = [];
  for (const { text, change } of all) {
    const last = result.at(-1);
    if (last?.change === change) last.text += text;
    else if (text !== "") result.push({ text, change });
  }
  return result;
}
