import { NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';

/** What all pages of a list have in common. */
export interface PetFilter {
  /** Only pets of this status; all pets if absent. */
  readonly status?: PetStatus;
}

/** Which pets to list. */
export interface PetQuery extends PetFilter {
  /** Only pets with this id or a lower one; all pets if absent. */
  readonly maxId?: bigint;
  /** The maximum number of pets, 1 or more. */
  readonly limit: number;
}

/** Identifies a create, so that retries of it add one pet. */
export interface IdempotencyKey {
  /** The owner of the API key. Equal keys of different scopes are different keys. At most 64 ASCII characters. */
  readonly scope: string;
  /** Chosen by the client: 1 to 255 visible ASCII characters, case-sensitive. */
  readonly key: string;
  /** The hash of the payload, at most 43 ASCII characters. */
  readonly fingerprint: string;
}

/** 24 hours, in milliseconds, by the clock of the database, which all instances share. */
export const IDEMPOTENCY_KEY_LIFETIME = 86_400_000;

/** The result of `add`. */
export interface Added {
  readonly pet: Pet;
  /** Whether an earlier request with the same idempotency key has added the pet. */
  readonly replayed: boolean;
}

/**
 * The pets. Every method that returns a promise rejects with `DatabaseUnavailable` if the database does not answer in
 * time: by the deadline, on the clock of `performance.now()`, or without one within the default of the adapter.
 * `test/stores/*.contract.ts` and `test/http` have cases for every adapter.
 */
export abstract class PetRepository {
  /**
   * Stores a pet and resolves to it once it would survive a crash of the process and of the machine. Its id is larger
   * than every id assigned before the call. All fields come back exactly; an absent field stays absent.
   *
   * An idempotency key is stored with its pet, both or neither. If the key was already stored within its lifetime, no
   * pet is added: the call resolves to the pet added with it, or rejects with `IdempotencyKeyReused` if the fingerprint
   * differs. This also holds for concurrent calls on any instance; a call that would wait too long for another one
   * rejects with `IdempotencyInProgress`. A key whose pet was deleted counts as never stored.
   */
  abstract add(pet: NewPet, key?: IdempotencyKey, deadline?: number): Promise<Added>;

  /** The pet with this id, which may be any int64; undefined if none has it. */
  abstract find(id: bigint, deadline?: number): Promise<Pet | undefined>;

  /** The pets that match, by descending id. Includes every pet whose `add` resolved before the call. */
  abstract list(query: PetQuery, deadline?: number): Promise<readonly Pet[]>;

  /**
   * A number that changes with every committed change of the database, by any process, the uses of API keys included,
   * which are stored every five seconds: what this process reads after it has got the number is valid while the number
   * is the same. Undefined if only a query could tell. Takes some microseconds.
   */
  abstract version(): number | undefined;

  /**
   * Resolves once the database has answered a query of the pets, for a readiness check; rejects if it does not within
   * 1.5 seconds. Concurrent calls share one query.
   */
  abstract ping(): Promise<void>;
}
