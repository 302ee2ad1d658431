/** A sample: mutants of some areas, what is known about each, and the scores that follow. */
import type { Area } from "./areas.ts";
import type { Equivalents } from "./equivalent.ts";
import { judge, type Effort } from "./judge.ts";
import type { TestMap } from "./map.ts";
import { resultLine, type Progress } from "./progress.ts";
import type { Result, Results } from "./results.ts";
import { draw, type Drawn, type Texts } from "./sampling.ts";
import type { Score } from "./score.ts";
import { Scratch } from "./scratch.ts";
import { diffOf } from "./sites.ts";

export type SampleOptions = {
  readonly root: string;
  readonly commit: string;
  readonly seed: number;
  readonly equivalents: Equivalents;
  readonly results: Results;
  readonly effort: Effort;
  /** Judges again what has a verdict. */
  readonly fresh: boolean;
  readonly progress: Progress;
};

type Placed = Drawn & { readonly area: Area };

export class Sample {
  readonly #options: SampleOptions;
  readonly #drawn: Placed[] = [];
  readonly #judged = new Map<string, Result>();
  /** Chosen by id: an earlier verdict does not count. */
  #isChosen = false;

  constructor(options: SampleOptions) {
    this.#options = options;
  }

  drawFrom(area: Area, texts: Texts, count: number): void {
    const before = this.#drawn.length;
    for (const drawn of draw(texts, area, this.#options.seed)) {
      if (this.#drawn.length - before >= count) return;
      this.#drawn.push({ ...drawn, area });
    }
  }

  choose(drawn: readonly Placed[]): void {
    this.#drawn.push(...drawn);
    this.#isChosen = true;
  }

  get drawn(): readonly Placed[] {
    return this.#drawn;
  }

  get survivors(): Result[] {
    return [...this.#judged.values()].filter(({ noticed }) => !noticed);
  }

  get scores(): Map<Area, Score & { equivalent: number }> {
    const scores = new Map<Area, Score & { equivalent: number }>();
    for (const { area, mutant } of this.#drawn) {
      const { noticed, judged, equivalent } = scores.get(area) ?? { noticed: 0, judged: 0, equivalent: 0 };
      const result = this.#judged.get(mutant.id);
      scores.set(area, {
        noticed: noticed + (result?.noticed === true ? 1 : 0),
        judged: judged + (result === undefined ? 0 : 1),
        equivalent: equivalent + (this.#isEquivalent(mutant.id) ? 1 : 0),
      });
    }
    return scores;
  }

  /** Tries all that have no verdict yet, some at the same time, each in a copy of its own. */
  async judge(map: TestMap, jobs: number): Promise<void> {
    const { progress } = this.#options;
    const waiting = this.#drawn.filter((drawn) => !this.#isSettled(drawn));
    const total = waiting.length;
    if (total > 0 && total < this.#drawn.length)
      progress.line(`${this.#drawn.length - total} of ${this.#drawn.length} are known`);
    const work = async (): Promise<void> => {
      const first = waiting.shift();
      if (first === undefined) return;
      const scratch = new Scratch(this.#options.root);
      for (let next: Placed | undefined = first; next !== undefined; next = waiting.shift()) {
        const { mutant } = next;
        progress.say(
          `mutants: ${total - waiting.length} of ${total}: ${mutant.file}:${mutant.line} ${mutant.operator}`,
        );
        const result = this.#resultOf(next, await judge(next, this.#options.effort, map, scratch));
        this.#options.results.add(result);
        this.#judged.set(mutant.id, result);
        progress.line(resultLine(result));
      }
      scratch.remove();
    };
    await Promise.all(Array.from({ length: jobs }, work));
  }

  #isEquivalent(id: string): boolean {
    return !this.#isChosen && this.#options.equivalents.has(id);
  }

  #isSettled({ area, mutant: { id } }: Placed): boolean {
    const { results, commit, seed, fresh, effort } = this.#options;
    if (this.#isEquivalent(id)) return true;
    const known = fresh || this.#isChosen ? undefined : results.get({ commit, seed, area, id });
    // What survived less may be noticed with more.
    if (known === undefined || (!known.noticed && known.budgetMs < effort.budgetMs)) return false;
    this.#judged.set(id, known);
    return true;
  }

  #resultOf({ area, mutant, source }: Placed, verdict: Awaited<ReturnType<typeof judge>>): Result {
    const { commit, seed, effort } = this.#options;
    const { id, operator } = mutant;
    const { budgetMs } = effort;
    return { commit, seed, area, id, operator, budgetMs, diff: diffOf(mutant, source), ...verdict };
  }
}
