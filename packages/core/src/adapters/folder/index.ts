export { FolderBucket, type FolderOptions } from "./bucket.ts";
