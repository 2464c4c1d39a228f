import { isInt64 } from '../../domain/int64.js';
import { DEFAULT_STATUS, NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';
import { Cursors } from './cursors.js';
import { PetNotFound } from '../errors.js';
import { fingerprint } from './fingerprint.js';
import { Added, IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey, PetRepository } from './pet-repository.port.js';
import { Secrets } from '../secrets.port.js';

/** How much longer than a step of forgetting is the pause behind it, which is for the requests. */
const PAUSE_PER_STEP = 4;

/** Which page of the list to show. */
export interface PageQuery {
  /** Only pets of this status; all of them if absent. */
  readonly status?: PetStatus;
  /** The `next` of the page before; the first page if absent. */
  readonly cursor?: string;
  /** The most pets on the page, 1 to 100. */
  readonly limit: number;
}

/** A page of the list, newest first. */
export interface PetPage {
  readonly pets: readonly Pet[];
  /** The cursor of the page that follows; absent on the last one. */
  readonly next?: string;
}

/** The part of an idempotency key that comes with a request: whose it is, which is the digest of the API key, and its text. */
export type SentIdempotencyKey = Pick<IdempotencyKey, 'scope' | 'key'>;

/** A pet as it is sent: `available` unless it says otherwise. */
export type SentPet = Omit<NewPet, 'status'> & Partial<Pick<NewPet, 'status'>>;

/** The three operations on pets. All of them reject with `StoreUnavailable` while the store cannot answer. */
export class PetService {
  constructor(
    private readonly pets: PetRepository,
    private readonly cursors: Cursors,
    private readonly secrets: Secrets,
  ) {}

  /** One page of the pets that match; rejects with `CursorRefused` if the cursor is none of this list's. */
  async list({ status, cursor, limit }: PageQuery): Promise<PetPage> {
    const before = cursor === undefined ? undefined : await this.cursors.read(cursor, status);
    // One more than is shown tells whether a page follows.
    const found = await this.pets.list({ status, before, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last ? { pets: found.slice(0, limit), next: await this.cursors.write(last.id, status) } : { pets: found };
  }

  /**
   * Adds a pet and resolves once it is durable. With an idempotency key it is added once however often it is sent within 24 hours; rejects
   * with `IdempotencyKeyReused` if the key came with another payload, and with `IdempotencyInProgress` if the first request with it takes
   * too long to be waited for.
   */
  create(sent: SentPet, key?: SentIdempotencyKey): Promise<Added> {
    const pet = { status: DEFAULT_STATUS, ...given(sent) };
    if (!key) return this.pets.add(pet);
    return this.pets.add(pet, { ...key, fingerprint: this.secrets.digest(fingerprint(pet)), at: new Date() });
  }

  /** The pet with this id; rejects with `PetNotFound` if there is none. Any integer may be asked for. */
  async get(id: bigint): Promise<Pet> {
    const pet = isInt64(id) ? await this.pets.find(id) : undefined;
    if (!pet) throw new PetNotFound();
    return pet;
  }

  /** The number up to whose change a page holds; undefined if only asking for it again tells. See `PetRepository.listRevision`. */
  listRevision(): number | undefined {
    return this.pets.listRevision();
  }

  /** The same for a pet that was found. See `PetRepository.petRevision`. */
  petRevision(): number | undefined {
    return this.pets.petRevision();
  }

  /** Forgets the idempotency keys that have had their time, in small steps with longer pauses, until none is left or `stop` is aborted. */
  async forgetIdempotencyKeys(stop: AbortSignal): Promise<void> {
    const before = new Date(Date.now() - IDEMPOTENCY_KEY_LIFETIME);
    while (!stop.aborted) {
      const begun = performance.now();
      try {
        if ((await this.pets.forgetIdempotencyKeys(before)) === 0) return;
      } catch (error) {
        // What is closed to stop cannot answer.
        if (!stop.aborted) throw error;
      }
      const took = performance.now() - begun;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_PER_STEP * took).unref());
    }
  }
}

/** The fields that are given, in an object of their own: what is undefined is absent. */
function given<Fields extends object>(fields: Fields): Fields {
  const copy: Partial<Fields> = {};
  for (const name in fields) if (fields[name] !== undefined) copy[name] = fields[name];
  return copy as Fields;
}
