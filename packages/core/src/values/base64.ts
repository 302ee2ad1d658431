/** Base64, with the runtime's own function where it exists. */

export function toBase64(bytes: Uint8Array): string {
  const native = bytes as { toBase64?(): string };
  // Tens of times as fast as the loop below.
  if (native.toBase64 !== undefined) return native.toBase64();
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x2000)
    text += String.fromCharCode(...bytes.subarray(i, i + 0x2000));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
