/** Verdicts, one line of JSON each, so that a run that was interrupted goes on where it stopped. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Area } from "./areas.ts";
import type { Verdict } from "./judge.ts";

export type Result = Verdict & {
  readonly commit: string;
  readonly seed: number;
  readonly area: Area;
  readonly id: string;
  readonly diff: string;
  readonly operator: string;
  /** What was spent at most. */
  readonly budgetMs: number;
};

export class Results {
  readonly #path: string;
  readonly #known = new Map<string, Result>();

  constructor(path: string) {
    this.#path = path;
    if (!existsSync(path)) return;
    for (const line of readFileSync(path, "utf8").split("\n")) {
      const result = parsed(line);
      if (result !== null) this.#known.set(keyOf(result), result);
    }
  }

  get(of: Pick<Result, "commit" | "seed" | "area" | "id">): Result | undefined {
    return this.#known.get(keyOf(of));
  }

  add(result: Result): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    appendFileSync(this.#path, `${JSON.stringify(result)}\n`);
    this.#known.set(keyOf(result), result);
  }
}

function keyOf({ commit, seed, area, id }: Pick<Result, "commit" | "seed" | "area" | "id">): string {
  return [commit, seed, area, id].join(" ");
}

/** `null` for a line that was cut off while it was written. */
function parsed(line: string): Result | null {
  try {
    return line === "" ? null : (JSON.parse(line) as Result);
  } catch {
    return null;
  }
}
