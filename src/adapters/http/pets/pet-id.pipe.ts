import { Injectable, PipeTransform } from '@nestjs/common';
import { PetNotFound } from '../../../application/errors.js';

/** Parses a petId; throws `PetNotFound` if it is no int64: the documented responses are 200, 401 and 404. */
@Injectable()
export class PetIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    // An int64 has at most 19 digits.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
    return BigInt(text);
  }
}
