import { isInt64 } from '../../domain/int64.js';
import { DEFAULT_STATUS, NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';
import { readCursor, writeCursor } from './cursors.js';
import { PetNotFound } from '../errors.js';
import { fingerprint } from './fingerprint.js';
import { Added, IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey, PetRepository } from './pet-repository.port.js';

/** Which page to list. */
export interface PageQuery {
  /** Only pets of this status; all pets if absent. */
  readonly status?: PetStatus;
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

/** The idempotency key of a request; its scope is the digest of the API key. */
export type SentIdempotencyKey = Pick<IdempotencyKey, 'scope' | 'key'>;

/** A pet as a client sends it: the status is optional. */
export type SentPet = Omit<NewPet, 'status'> & Partial<Pick<NewPet, 'status'>>;

/** The three operations on pets. All of them reject with `DatabaseUnavailable` while the database does not answer. */
export class PetService {
  constructor(private readonly pets: PetRepository) {}

  /** Lists a page; rejects with `CursorRejected` if the cursor is invalid or belongs to another filter. */
  async list({ status, cursor, limit }: PageQuery): Promise<PetPage> {
    const before = cursor === undefined ? undefined : readCursor(cursor, status);
    // One more than the page shows, to know whether another page follows.
    const found = await this.pets.list({ status, before, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last ? { pets: found.slice(0, limit), next: writeCursor(last.id, status) } : { pets: found };
  }

  /**
   * Creates a pet and resolves once it is durable. Requests with the same idempotency key create one pet in 24 hours.
   * Rejects with `IdempotencyKeyReused` if the key was used with another payload, and with `IdempotencyInProgress` if
   * the first request with it does not finish in time.
   */
  create(sent: SentPet, key?: SentIdempotencyKey): Promise<Added> {
    const pet = { ...sent, status: sent.status ?? DEFAULT_STATUS };
    return this.pets.add(pet, key && { ...key, fingerprint: fingerprint(pet), at: new Date() });
  }

  /** The pet with this id, which may be any integer; rejects with `PetNotFound` if none has it. */
  async get(id: bigint): Promise<Pet> {
    const pet = isInt64(id) ? await this.pets.find(id) : undefined;
    if (!pet) throw new PetNotFound();
    return pet;
  }

  /** See `PetRepository.version`. */
  version(): number | undefined {
    return this.pets.version();
  }

  /** See `PetRepository.check`. */
  check(): Promise<void> {
    return this.pets.check();
  }

  /** Deletes a batch of the expired idempotency keys; resolves to false if none was left. */
  async deleteExpiredIdempotencyKeys(): Promise<boolean> {
    return (await this.pets.deleteIdempotencyKeys(new Date(Date.now() - IDEMPOTENCY_KEY_LIFETIME))) > 0;
  }
}
