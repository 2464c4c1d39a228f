import { crc32 } from 'node:zlib';
import { PET_STATUSES, PetStatus } from '../../domain/pets/pet.js';
import { CursorRejected } from '../errors.js';

/** The pattern of a cursor in the OpenAPI document. */
export const CURSOR_PATTERN = '^[A-Za-z0-9_-]{16,64}$';

/** The decoded cursor: the version of the format, the filter, the id, and the CRC-32 of these. */
const FORM = new RegExp(`^1:(${PET_STATUSES.join('|')}|):([1-9][0-9]{0,18}):[0-9a-f]{8}$`);

/** The cursor of the page that follows this id in the list filtered by this status. It never expires. */
export function writeCursor(id: bigint, status: PetStatus | undefined): string {
  const text = `1:${status ?? ''}:${id}:`;
  return Buffer.from(text + crc32(text).toString(16).padStart(8, '0')).toString('base64url');
}

/** The id that the page follows; throws `CursorRejected` if the cursor is damaged or belongs to another filter. */
export function readCursor(cursor: string, status: PetStatus | undefined): bigint {
  const [, , digits] = FORM.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (digits === undefined || cursor !== writeCursor(BigInt(digits), status)) throw new CursorRejected();
  return BigInt(digits);
}
