/** Import cycles of a graph, one example per knot of files. */

export type Arrow = { readonly to: string; readonly line: number };
export type Graph = ReadonlyMap<string, readonly Arrow[]>;

/** Each cycle as the files along it; the first imports the second, the last imports the first. */
export function findCycles(graph: Graph): string[][] {
  const done = new Set<string>();
  const path: string[] = [];
  const cycles: string[][] = [];

  const visit = (file: string): void => {
    const seenAt = path.indexOf(file);
    if (seenAt >= 0) {
      cycles.push(path.slice(seenAt));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const { to } of graph.get(file) ?? []) visit(to);
    path.pop();
    done.add(file);
  };

  for (const file of [...graph.keys()].toSorted()) visit(file);
  return cycles;
}
