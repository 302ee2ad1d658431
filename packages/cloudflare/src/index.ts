export { r2Bucket, type R2Binding, type R2Options } from "./r2.ts";
export { createConsumer } from "./consumer.ts";
export type { Consumer, ConsumerOptions, QueueBinding, QueueMessage, RunMessage } from "./consumer.ts";
export { createBudget, type Budget, type BudgetOptions } from "./budget.ts";
