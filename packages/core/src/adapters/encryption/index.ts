export { aesGcm } from "./aes-gcm.ts";
export { chainOf } from "./chain.ts";
export type { AesGcmOptions } from "./options.ts";
