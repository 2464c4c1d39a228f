/** What the store keeps of an API key; never its text. Times are UTC. */
export interface ApiKey {
  /** SHA-256 of the key's text, 64 hexadecimal digits. It identifies the key. */
  readonly digest: string;
  /** 1 to 64 characters chosen by the operator, for people; of the valid keys no other has it. */
  readonly name: string;
  /** The key's first characters, enough to tell it from others and too few to use it. */
  readonly prefix: string;
  readonly createdAt: Date;
  /** From this moment on the key is refused; null for never. */
  readonly expiresAt: Date | null;
  /** When the key was revoked; null while it is not. */
  readonly revokedAt: Date | null;
}

const MAX_NAME_LENGTH = 64;

const RETIRED = '.old';

/** The name of a key for as long as it is valid beside the one that has taken its place: `shop.old` of `shop`, cut before the dot if it is too long. */
export function retiredName(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH - RETIRED.length) + RETIRED;
}

/** How an issued key begins, so that scanners for leaked secrets find it. */
export const KEY_MARK = 'pets_';

/** How many random characters an issued key has: 30 base62 digits, 178 bits. */
export const KEY_RANDOM_LENGTH = 30;

/** The digits of an issued key, in the order of their value. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const CHECKSUM_LENGTH = 6;
const PREFIX_LENGTH = KEY_MARK.length + 4;

/** The key's text made of 30 random base62 digits: `pets_`, the digits, and the CRC-32 of them in 6 base62 digits. */
export function keyText(random: string): string {
  return KEY_MARK + random + checksum(random);
}

/** Whether a text has the form of an issued key, its checksum included: a damaged key is refused without asking the store. */
export function isIssuedKey(text: string): boolean {
  if (text.length !== KEY_MARK.length + KEY_RANDOM_LENGTH + CHECKSUM_LENGTH || !text.startsWith(KEY_MARK)) return false;
  const random = text.slice(KEY_MARK.length, -CHECKSUM_LENGTH);
  return checksum(random) === text.slice(-CHECKSUM_LENGTH);
}

/** The part of a key that may be shown. */
export function keyPrefix(text: string): string {
  return text.slice(0, PREFIX_LENGTH);
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** CRC-32 (ISO 3309, as in gzip) of an ASCII text. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
