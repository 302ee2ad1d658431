export { r2Bucket, type R2Binding, type R2Options } from "./r2.ts";
export { createConsumer } from "./consumer.ts";
export type { Consumer, ConsumerOptions, QueueBinding, QueueMessage, RunMessage } from "./consumer.ts";
export { createBudget, type Budget, type RequestBudgetOptions } from "./budget.ts";
export { objectBucket, type ObjectSql } from "./object-bucket.ts";
export { runsObject } from "./runs-object.ts";
export type { ObjectHost, ObjectState, RunsObjectClass, RunsObjectOptions } from "./runs-object.ts";
