/** The answers to suspend points, by name, the same in every history. Proven in test/kit-more.test.ts. */

import type { SuspendPoint } from "@durable/core";

/**
 * The answer to suspend points of one name: a value, a function of the suspend point, or a list for a name
 * that occurs several times. An answer that is itself a list is put into a list: `[[1, 2]]`.
 */
export type Answer =
  | ((point: SuspendPoint) => unknown)
  | readonly unknown[]
  | object
  | string
  | number
  | bigint
  | boolean
  | null;

/** Answers by the name of the suspend point. */
export type Answers = Readonly<Record<string, Answer>>;

/** Finds the answer to a suspend point, and says which answers are missing. */
export class AnswerBook {
  readonly #answers: Answers;
  /** Keys of each name in the order of the calm run. */
  readonly #keys = new Map<string, string[]>();

  constructor(answers: Answers) {
    this.#answers = answers;
  }

  /** The first point that has an answer. */
  find(waiting: readonly SuspendPoint[]): SuspendPoint | undefined {
    return waiting.find(({ name }) => Object.hasOwn(this.#answers, name));
  }

  /** Names that no suspend point had. */
  unused(): string[] {
    return Object.keys(this.#answers).filter((name) => !this.#keys.has(name));
  }

  answer(point: SuspendPoint): unknown {
    const { name, key } = point;
    const given = this.#answers[name];
    const keys = this.#keys.get(name) ?? [];
    this.#keys.set(name, keys);
    if (!keys.includes(key)) keys.push(key);
    if (typeof given === "function") return (given as (point: SuspendPoint) => unknown)(point);
    if (!Array.isArray(given)) return given;
    const index = keys.indexOf(key);
    if (index < given.length) return given[index];
    throw new Error(
      `resume.${name} has ${given.length} answer(s), but suspend point "${key}" is number ${index + 1} of that name. Add an answer, or pass a function of the suspend point.`,
    );
  }

  /** The error for suspend points that will never get an answer. */
  missing(waiting: readonly SuspendPoint[]): Error {
    const names = [...new Set(waiting.map(({ name }) => name))];
    const example = names.map((name) => `${JSON.stringify(name)}: ...`).join(", ");
    return new Error(
      `The run waits for ${names.map((name) => `"${name}"`).join(", ")}, which has neither an answer nor a deadline. Add { resume: { ${example} } }.`,
    );
  }

  refused({ name, key }: SuspendPoint, issues: string | undefined): Error {
    return new Error(
      `The answer in resume.${name} does not fit the schema of suspend point "${key}": ${issues ?? "refused"}.`,
    );
  }
}
