import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { INT64_MIN, isInt64 } from '../../domain/int64.js';
import { DEFAULT_STATUS, NewPet, Pet } from '../../domain/pets/pet.js';
import { CursorRejected, PetNotFound } from '../errors.js';
import { Added, IdempotencyKey, PetFilter, PetRepository } from './pet-repository.port.js';

/** Which page to list. */
export interface PageQuery extends PetFilter {
  /** The `next` of the previous page; the first page if absent. */
  readonly cursor?: string;
  /** The maximum number of pets on the page, 1 to 100. */
  readonly limit: number;
}

/** A page of the list, newest first. */
export interface PetPage {
  readonly pets: readonly Pet[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** The idempotency key of a request. */
export type SentIdempotencyKey = Pick<IdempotencyKey, 'scope' | 'key'>;

/**
 * The operations on pets. All of them reject with `DatabaseUnavailable` while the database does not answer, at the
 * deadline at the latest; see `PetRepository`.
 */
export class PetService {
  constructor(private readonly pets: PetRepository) {}

  /** Lists a page; rejects with `CursorRejected` if the cursor is invalid or belongs to another filter. */
  async list({ cursor, limit, ...filter }: PageQuery, deadline?: number): Promise<PetPage> {
    const maxId = cursor === undefined ? undefined : readCursor(cursor, filter) - 1n;
    // One more than the page shows, to know whether another page follows.
    const found = await this.pets.list({ ...filter, maxId, limit: limit + 1 }, deadline);
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last ? { pets: found.slice(0, limit), next: writeCursor(last.id, filter) } : { pets: found };
  }

  /**
   * Creates a pet and resolves once it is durable. Requests with the same idempotency key create one pet in 24 hours.
   * Rejects with `IdempotencyKeyReused` if the key was used with another payload, and with `IdempotencyInProgress` if
   * the first request with it does not finish in time.
   */
  create(
    sent: Omit<NewPet, 'status'> & Partial<Pick<NewPet, 'status'>>,
    key?: SentIdempotencyKey,
    deadline?: number,
  ): Promise<Added> {
    const pet = { ...sent, status: sent.status ?? DEFAULT_STATUS };
    return this.pets.add(pet, key && { ...key, fingerprint: fingerprint(pet) }, deadline);
  }

  /** The pet with this id, which may be any integer; rejects with `PetNotFound` if none has it. */
  async get(id: bigint, deadline?: number): Promise<Pet> {
    const pet = isInt64(id) ? await this.pets.find(id, deadline) : undefined;
    if (!pet) throw new PetNotFound();
    return pet;
  }

  /** See `PetRepository.version`. */
  version(): number | undefined {
    return this.pets.version();
  }

  /** See `PetRepository.ping`. */
  ping(): Promise<void> {
    return this.pets.ping();
  }
}

/**
 * SHA-256 of the fields of a payload, in base64url. A field that a later release adds is included by name and only if
 * it is given, so that the stored fingerprints of payloads without it stay valid.
 */
export function fingerprint({ name, categoryId, status, ...later }: NewPet): string {
  const given = Object.entries<unknown>(later).filter(([, value]) => value !== undefined);
  given.sort(([field], [other]) => (field < other ? -1 : 1));
  const json = JSON.stringify([name, categoryId, status, ...given], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return createHash('sha256').update(json).digest('base64url');
}

/**
 * The cursor of the page that follows this id in the list with this filter: the version of its format, the filter, the
 * id, and the CRC-32 of these. It never expires.
 */
export function writeCursor(id: bigint, { status }: PetFilter): string {
  const text = `1:${status ?? ''}:${id}:`;
  return Buffer.from(text + crc32(text).toString(16).padStart(8, '0')).toString('base64url');
}

/** The id that the page follows; throws `CursorRejected` if the cursor is damaged or belongs to another filter. */
function readCursor(cursor: string, filter: PetFilter): bigint {
  const [, digits = ''] = /^1:[a-z]*:(-?\d{1,19}):/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  // Without a match it is `BigInt('')`, which is 0, whose cursor differs. No page follows the lowest id.
  const id = BigInt(digits);
  if (!isInt64(id) || id === INT64_MIN || cursor !== writeCursor(id, filter)) throw new CursorRejected();
  return id;
}
