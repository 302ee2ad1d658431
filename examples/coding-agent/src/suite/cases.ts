/**
 * What `pages(text, last)` must return. Candidates do not see these cases, only the names of those that
 * failed.
 */

export interface Case {
  readonly name: string;
  readonly args: readonly [text: string, last: number];
  /** The pages, or the name of the error that must be thrown. */
  readonly gives: readonly number[] | string;
}

export const cases: readonly Case[] = [
  { name: "one page", args: ["5", 10], gives: [5] },
  { name: "a range and a page", args: ["1-3,7", 10], gives: [1, 2, 3, 7] },
  { name: "spaces", args: [" 2 - 4 , 6 ", 10], gives: [2, 3, 4, 6] },
  { name: "any order, no page twice", args: ["7,1-3,2", 10], gives: [1, 2, 3, 7] },
  { name: "order by number", args: ["10,9", 10], gives: [9, 10] },
  { name: "open at the end", args: ["8-", 10], gives: [8, 9, 10] },
  { name: "open at the start", args: ["-3", 10], gives: [1, 2, 3] },
  { name: "a range backwards", args: ["6-4", 10], gives: [4, 5, 6] },
  { name: "nothing at all", args: ["", 10], gives: [] },
  { name: "not a number", args: ["a-b", 10], gives: "RangeError" },
  { name: "pages that are not there", args: ["0, 9-12", 10], gives: [9, 10] },
  { name: "commas to spare", args: ["1,,2,", 10], gives: [1, 2] },
  { name: "a range far beyond the last page", args: ["8-999999999999", 10], gives: [8, 9, 10] },
];
