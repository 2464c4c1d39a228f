import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** An API key as it is stored, without its text. */
export interface ApiKey {
  /** SHA-256 of the key's text, 64 hexadecimal digits. It identifies the key. */
  readonly digest: string;
  /**
   * The digest of the first key of the chain of rotations that this key belongs to: its own if it replaced none. What a
   * client has done stays its own when its key is rotated.
   */
  readonly owner: string;
  /** 1 to 64 characters, chosen by the operator; unique among the valid keys. */
  readonly name: string;
  /** The first characters of the text, by which an operator recognises the key. */
  readonly prefix: string;
  readonly createdAt: Date;
  /** The key is rejected from this moment on; null for never. */
  readonly expiresAt: Date | null;
  /** Null if the key is not revoked. */
  readonly revokedAt: Date | null;
}

/** The digest of the key with this text. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Whether a key is valid, by default now, and why it is not. */
export function keyState({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, at = Date.now()) {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt.getTime() <= at ? 'expired' : 'valid';
}

/** The name of a rotated key until it expires, such as `shop.old` for `shop`; the whole has at most 64 characters. */
export function retiredName(name: string): string {
  return `${name.slice(0, 60)}.old`;
}

/** The name of a configured key. */
export function configuredName(digest: string): string {
  return `configured-${digest.slice(0, 8)}`;
}

/** Such names are those of configured keys; no stored key may be given one. */
export const RESERVED = /^configured-[0-9a-f]{8}$/;

/** The prefix by which scanners for leaked secrets recognise a key. */
export const KEY_MARK = 'pets_';

/** The number of random base62 digits in a key: 178 bits. */
export const KEY_RANDOM_LENGTH = 30;

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The text of a key: `pets_`, 30 random base62 digits, and their CRC-32 as 6 base62 digits. */
export function keyText(random = randomDigits()): string {
  const checksum = crc32(random);
  const digits = [5, 4, 3, 2, 1, 0].map((place) => BASE62.charAt(Math.floor(checksum / 62 ** place) % 62));
  return KEY_MARK + random + digits.join('');
}

/** Whether a text has the form of an issued key and the right checksum: a damaged key is rejected without a query. */
export function isIssuedKey(text: string): boolean {
  return text === keyText(text.slice(KEY_MARK.length, KEY_MARK.length + KEY_RANDOM_LENGTH));
}

/** The part of a key that may be shown: the mark and four random digits. */
export function keyPrefix(text: string): string {
  return text.slice(0, KEY_MARK.length + 4);
}

/** What may be an issued key, a damaged one too, also with its `_` percent-encoded. */
const MAYBE_KEY = /pets(?:_|%(?:25)*5f)[0-9a-z]{20,}/gi;

/** Masks whatever may be an issued key in a text that repeats what a client has sent, before it leaves the process. */
export function maskKeys(text: string): string {
  return text.replace(MAYBE_KEY, `${KEY_MARK}***`);
}

function randomDigits(): string {
  return Array.from({ length: KEY_RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length))).join('');
}
