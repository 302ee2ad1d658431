/** Finds what a misspelt name may have meant. */

/** All candidates, sorted by how many pairs of letters they share with the given name. */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  nameOf = (candidate: string): string => candidate,
): string[] {
  const asked = new Set(pairs(name));
  const score = (candidate: string): number => {
    const own = pairs(nameOf(candidate));
    return own.filter((pair) => asked.has(pair)).length / (own.length + asked.size);
  };
  return [...candidates].toSorted((a, b) => score(b) - score(a));
}

function pairs(text: string): string[] {
  return Array.from(text, (letter, i) => letter + text.charAt(i + 1));
}
