export { aesGcm } from "./aes-gcm.ts";
export type { AesGcmOptions } from "./options.ts";
