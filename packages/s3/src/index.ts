export { s3Bucket } from "./bucket.ts";
export type { S3Options } from "./options.ts";
export { Signer, type Credentials, type SignerScope, type UnsignedRequest } from "./sign.ts";
