import { NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';

/** Which pets to list. */
export interface PetQuery {
  /** Only pets of this status; all of them if absent. */
  readonly status?: PetStatus;
  /** Only pets whose id is below this one; from the newest on if absent. */
  readonly before?: bigint;
  /** The most pets to return, 1 or more. */
  readonly limit: number;
}

/** What tells that a request was sent before, so that it adds one pet however often it comes. */
export interface IdempotencyKey {
  /** Whose key it is: the same key in another scope is another one. At most 64 ASCII characters. */
  readonly scope: string;
  /** The client's name for the request: 1 to 255 visible ASCII characters, upper and lower case being different. */
  readonly key: string;
  /** What tells one payload from another: at most 64 ASCII characters. */
  readonly fingerprint: string;
  /** When the request came. */
  readonly at: Date;
}

/** How long an idempotency key is kept, in milliseconds: 24 hours. */
export const IDEMPOTENCY_KEY_LIFETIME = 86_400_000;

/** What became of an `add`. */
export interface Added {
  readonly pet: Pet;
  /** Whether the pet was there already, added by an earlier request with the same idempotency key. */
  readonly replayed: boolean;
}

/**
 * Where the pets are kept. Every method that returns a promise rejects with `StoreUnavailable` while the store cannot answer, however long that hangs.
 * `test/stores/pet-repository.contract.ts` has a case for each sentence, run on every adapter.
 */
export abstract class PetRepository {
  /**
   * Stores a pet and resolves to it as stored, once it would survive a crash of the process and of the machine.
   * Its id is larger than every id that this store assigned before the call. All fields come back exactly; one that is absent
   * stays absent.
   *
   * With an idempotency key, pet and key are stored both or neither. If the key was stored within its lifetime, no pet is added:
   * the one added with it is resolved to, or, if its fingerprint was another one, the call rejects with `IdempotencyKeyReused`.
   * This holds for calls at the same time too, from any instance; a call that would have to wait for another one for too long
   * rejects with `IdempotencyInProgress`. A key whose pet is no longer there counts as never stored.
   */
  abstract add(pet: NewPet, key?: IdempotencyKey): Promise<Added>;

  /** The pet with this id, or undefined if there is none. Any int64 may be asked for. */
  abstract find(id: bigint): Promise<Pet | undefined>;

  /**
   * The pets that match, by descending id, at most `limit` of them; an empty array if there are none.
   * Every pet whose `add` had resolved before the call is seen.
   */
  abstract list(query: PetQuery): Promise<readonly Pet[]>;

  /**
   * A number that is a new one after every change of what a list can show, whoever made it: a list that was asked for at this number
   * holds for as long as this is the number. Undefined if the store can tell by nothing but a list. It takes a microsecond or two.
   */
  abstract listRevision(): number | undefined;

  /** The same for a pet that was found: what this process adds leaves the number as it is, what another one commits may not. */
  abstract petRevision(): number | undefined;

  /** Forgets some of the idempotency keys from before this moment, few enough to be quick; resolves to how many, 0 if none is left. */
  abstract forgetIdempotencyKeys(before: Date): Promise<number>;
}
