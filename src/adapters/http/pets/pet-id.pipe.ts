import { Injectable, PipeTransform } from '@nestjs/common';
import { PetNotFound } from '../../../application/errors.js';

/** Parses a petId; throws `PetNotFound` unless it is an integer of at most 19 digits: a malformed id is 404. */
@Injectable()
export class PetIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    // An int64 has at most 19 digits.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
    return BigInt(text);
  }
}
