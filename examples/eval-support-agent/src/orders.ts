/** 40 orders with an express fee, and what our policy says about each. */

/** An order as the shop has it. Dates are days of November 2026, which begins on a Sunday. */
export interface Order {
  readonly id: string;
  readonly goods: string;
  readonly sent: number;
  readonly came: number;
  /** What express delivery cost, in cents. */
  readonly fee: number;
}

const goods = ["helmet", "lamp", "saddle", "chain", "pump", "bell", "rack", "tyre"];

/** The days of sending and of arrival. */
const days: readonly (readonly [sent: number, came: number])[] = [
  // Late: more than three working days.
  [2, 6],
  [2, 7],
  [2, 9],
  [2, 10],
  [2, 11],
  [3, 9],
  [3, 10],
  [3, 11],
  [4, 10],
  [4, 11],
  [4, 12],
  [5, 11],
  [5, 12],
  [5, 13],
  [6, 12],
  [6, 13],
  [9, 13],
  [9, 16],
  [9, 17],
  [10, 16],
  [10, 17],
  [10, 18],
  [11, 17],
  [11, 18],
  [12, 18],
  [12, 19],
  [13, 19],
  [13, 20],
  [16, 20],
  [16, 23],
  [16, 24],
  // In time, over a weekend.
  [6, 10],
  [13, 17],
  [20, 24],
  // In time.
  [2, 4],
  [3, 5],
  [9, 12],
  [10, 13],
  [16, 18],
  [17, 20],
];

export const orders: readonly Order[] = days.map(([sent, came], i) => ({
  id: `support-${String(i + 1).padStart(2, "0")}`,
  goods: goods[i % goods.length] as string,
  sent,
  came,
  fee: 990 + 100 * (i % 6),
}));

/** Days after the day of sending, without Saturdays and Sundays. */
export function workingDays({ sent, came }: Pick<Order, "sent" | "came">): number {
  let count = 0;
  for (let day = sent + 1; day <= came; day++) if (![0, 6].includes((day - 1) % 7)) count += 1;
  return count;
}

/** What our policy pays back: express is late after three working days. */
export function owed(order: Order): number {
  return workingDays(order) > 3 ? order.fee : 0;
}

export function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
