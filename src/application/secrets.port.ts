/** The cryptography that the services need. */
export abstract class Secrets {
  /** So many base62 digits from a cryptographically secure source. */
  abstract random(length: number): string;

  /** SHA-256 of the text's UTF-8, as 64 hexadecimal digits. */
  abstract digest(text: string): string;

  /** HMAC-SHA-256 (RFC 2104) of the text's UTF-8 under a key, cut to 128 bits: 22 base64url digits. */
  abstract mac(key: string, text: string): string;
}
