/** A difference of two texts, word by word. */

export interface Piece {
  readonly kind: "same" | "old" | "new";
  readonly text: string;
}

/** Longer texts are shown whole, one after the other: the table of a comparison grows with the square. */
const mostWords = 1_500;

export function wordDiff(before: string, after: string): Piece[] {
  const [old, now] = [wordsIn(before), wordsIn(after)];
  if (old.length > mostWords || now.length > mostWords)
    return before === after ? piece("same", old) : [...piece("old", old), ...piece("new", now)];
  // How many words the rest of both texts have in common, from each place on.
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] as number;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pieces: { kind: Piece["kind"]; words: string[] }[] = [];
  const add = (kind: Piece["kind"], word: string): void => {
    const last = pieces.at(-1);
    if (last?.kind === kind) last.words.push(word);
    else pieces.push({ kind, words: [word] });
  };
  for (let i = 0, j = 0; i < old.length || j < now.length;) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      add("same", old[i++] as string);
      j++;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1)))
      add("old", old[i++] as string);
    else add("new", now[j++] as string);
  }
  return pieces.flatMap(({ kind, words }) => piece(kind, words));
}

function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function piece(kind: Piece["kind"], words: readonly string[]): Piece[] {
  return words.length === 0 ? [] : [{ kind, text: words.join(" ") }];
}
