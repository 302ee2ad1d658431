export { s3Bucket, type S3Options } from "./bucket.ts";
export { Signer, type Credentials, type SignerScope, type UnsignedRequest } from "./sign.ts";
