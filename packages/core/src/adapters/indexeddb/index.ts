/** IndexedDBBucket: runs that live in a page, through `RemoteStorage`. */

export { IndexedDBBucket, type IndexedDBOptions } from "./bucket.ts";
