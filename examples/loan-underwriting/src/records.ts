/** The bank's records: a credit bureau and a register of sales, each a file. */

import { readFile } from "node:fs/promises";
import { FatalError } from "@durable/core";

export interface CreditReport {
  readonly score: number;
  readonly monthlyIncome: number;
  readonly monthlyDebts: number;
  readonly latePayments: number;
}

export interface Comparables {
  readonly area: number;
  readonly sales: readonly { readonly address: string; readonly area: number; readonly price: number }[];
}

export const bureau = (applicant: string): Promise<CreditReport> => look("bureau", applicant);
export const register = (property: string): Promise<Comparables> => look("sales", property);

async function look<T>(file: string, name: string): Promise<T> {
  const url = new URL(`../records/${file}.json`, import.meta.url);
  const records = JSON.parse(await readFile(url, "utf8")) as Record<string, T>;
  const found = Object.hasOwn(records, name) ? records[name] : undefined;
  // Retrying would not help.
  if (found === undefined) throw new FatalError(`records/${file}.json has no entry for ${name}`);
  return found;
}
