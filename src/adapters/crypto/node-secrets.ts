import { createHash, createHmac, randomInt } from 'node:crypto';
import { Secrets } from '../../application/secrets.port.js';
import { BASE62 } from '../../domain/keys/api-key.js';

/** `Secrets` by Node's own cryptography. */
export class NodeSecrets extends Secrets {
  random(length: number): string {
    return Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join('');
  }

  digest(text: string): string {
    return createHash('sha256').update(text).digest('hex');
  }

  mac(key: string, text: string): string {
    return createHmac('sha256', key).update(text).digest().subarray(0, 16).toString('base64url');
  }
}
