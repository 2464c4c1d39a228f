import type { PipeTransform } from '@nestjs/common';
import { PetNotFound } from '../../../application/errors.js';

/** Parses a petId. A malformed one is 404, like that of a pet that does not exist. */
export class PetIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    // An int64 has at most 19 digits.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
    return BigInt(text);
  }
}
