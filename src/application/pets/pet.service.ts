import { isInt64 } from '../../domain/int64.js';
import { DEFAULT_STATUS, NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';
import { Cursors } from './cursors.js';
import { IdempotencyInProgress, IdempotencyKeyReused, PetNotFound } from '../errors.js';
import { Added, MARK_LIFETIME, PetRepository } from './pet-repository.port.js';
import { Secrets } from '../secrets.port.js';

/** Which page of the list to show. */
export interface PageQuery {
  /** Only animals of this status; all of them where absent. */
  readonly status?: PetStatus;
  /** The `next` of the page before; the first page where absent. */
  readonly cursor?: string;
  /** The most animals on the page, 1 to 100. */
  readonly limit: number;
}

/** A page of the list, newest first. */
export interface PetPage {
  readonly pets: readonly Pet[];
  /** The cursor of the page that follows; absent on the last one. */
  readonly next?: string;
}

/** A client's own name for a request, by which it is known when it is sent again. */
export interface IdempotencyKey {
  /** Whose name for it: the digest of the API key. */
  readonly scope: string;
  /** 1 to 255 visible ASCII characters. */
  readonly key: string;
}

/** How long a request waits for an earlier one with the same idempotency key, in milliseconds. */
const TWIN_PATIENCE = 2_000;

/** The three operations on the catalogue. All of them reject with `StoreUnavailable` while the store cannot answer. */
export class PetService {
  /** The requests with an idempotency key that this process is working on, by scope and key. */
  private readonly underWay = new Map<string, { fingerprint: string; outcome: Promise<Added> }>();

  constructor(
    private readonly pets: PetRepository,
    private readonly cursors: Cursors,
    private readonly secrets: Secrets,
  ) {}

  /** One page of the animals that match; rejects with `CursorRefused` where the cursor is none of this list's. */
  async list({ status, cursor, limit }: PageQuery): Promise<PetPage> {
    const before = cursor === undefined ? undefined : await this.cursors.read(cursor, status);
    // One more than is shown tells whether a page follows.
    const found = await this.pets.list({ status, before, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last ? { pets: found.slice(0, limit), next: await this.cursors.write(last.id, status) } : { pets: found };
  }

  /**
   * Adds an animal, `available` unless it says otherwise, and resolves once it is durable. With an idempotency key, in the scope of the
   * caller, it is added once however often it is sent within 24 hours; rejects with `IdempotencyKeyReused` where the key came with
   * another payload, and with `IdempotencyInProgress` where the first request with it takes too long to be waited for.
   */
  create(pet: Omit<NewPet, 'status'> & { readonly status?: PetStatus }, idempotency?: IdempotencyKey): Promise<Added> {
    const newPet = { name: pet.name, categoryId: pet.categoryId, status: pet.status ?? DEFAULT_STATUS };
    return idempotency ? this.createOnce(newPet, idempotency) : this.pets.add(newPet);
  }

  /** The animal with this id; rejects with `PetNotFound` where there is none. Any integer may be asked for. */
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

  /** Forgets the idempotency keys that have had their time, in small steps. */
  async forgetKeys(): Promise<void> {
    const before = new Date(Date.now() - MARK_LIFETIME);
    while ((await this.pets.forgetMarks(before)) > 0);
  }

  private async createOnce(pet: NewPet, { scope, key }: IdempotencyKey): Promise<Added> {
    const fingerprint = this.secrets.digest(JSON.stringify([pet.name, String(pet.categoryId), pet.status]));
    const mark = `${scope} ${key}`;
    const first = this.underWay.get(mark);
    if (first) {
      if (first.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
      return { ...(await within(TWIN_PATIENCE, first.outcome)), replayed: true };
    }
    const outcome = this.pets.add(pet, { scope, key, fingerprint, at: new Date() });
    this.underWay.set(mark, { fingerprint, outcome });
    try {
      return await outcome;
    } finally {
      this.underWay.delete(mark);
    }
  }
}

async function within(milliseconds: number, outcome: Promise<Added>): Promise<Added> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new IdempotencyInProgress()), milliseconds);
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}
