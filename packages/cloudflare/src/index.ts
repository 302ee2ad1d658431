export { r2Bucket, type R2Binding, type R2Options } from "./r2.ts";
