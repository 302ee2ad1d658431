/** Amounts for people, the same on every machine. */
export function money(amount: number): string {
  return amount.toLocaleString("en-US");
}
