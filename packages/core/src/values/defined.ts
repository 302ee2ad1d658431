/** A copy of options without those that are `undefined`, which count as left out. */
export function defined<T extends object>(options: T): Partial<T> {
  const given = Object.entries(options).filter(([, option]) => option !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}
