export { s3Bucket, type S3Options } from "./bucket.ts";
