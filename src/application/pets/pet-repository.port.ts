import { NewPet, Pet, PetStatus } from '../../domain/pets/pet.js';

/** Which animals to list. */
export interface PetQuery {
  /** Only animals of this status; all of them where absent. */
  readonly status?: PetStatus;
  /** Only animals whose id is below this one; from the newest on where absent. */
  readonly before?: bigint;
  /** The most animals to return, 1 or more. */
  readonly limit: number;
}

/** A mark by which a request that is sent again is known, so that it adds one animal however often it comes. */
export interface Once {
  /** Whose mark it is: the same key in another scope is another mark. At most 64 ASCII characters. */
  readonly scope: string;
  /** 1 to 255 visible ASCII characters, in whose case there is a difference. */
  readonly key: string;
  /** What tells one payload from another: at most 64 ASCII characters. */
  readonly fingerprint: string;
  /** When the request came. */
  readonly at: Date;
}

/** How long a mark is kept, in milliseconds: 24 hours. */
export const MARK_LIFETIME = 86_400_000;

/** What became of an `add`. */
export interface Added {
  readonly pet: Pet;
  /** Whether the animal was there already, added by an earlier request with the same mark. */
  readonly replayed: boolean;
}

/**
 * Where the animals are kept. Every method rejects with `StoreUnavailable` while the store cannot answer.
 * `test/contracts/pet-repository.contract.ts` has a case for each sentence, run on every adapter.
 */
export abstract class PetRepository {
  /**
   * Stores an animal and resolves to it as stored, once it would survive a crash of the process and of the machine.
   * Its id is larger than every id that this store assigned before the call. Name and categoryId come back exactly.
   *
   * With a mark, animal and mark are stored both or neither. Where the mark was stored within its lifetime, no animal is added:
   * the one added with it is resolved to, or, where its fingerprint was another one, the call rejects with `IdempotencyKeyReused`.
   * This holds for calls at the same time too, from any instance.
   */
  abstract add(pet: NewPet, once?: Once): Promise<Added>;

  /** The animal with this id, or undefined where there is none. Any int64 may be asked for. */
  abstract find(id: bigint): Promise<Pet | undefined>;

  /**
   * The animals that match, by descending id, at most `limit` of them; an empty array where there are none.
   * Every animal whose `add` had resolved before the call is seen.
   */
  abstract list(query: PetQuery): Promise<readonly Pet[]>;

  /**
   * A number that is a new one after every change of what a list can show, whoever made it: a list that was asked for at this number
   * holds for as long as this is the number. Undefined if the store can tell by nothing but a list. It takes a microsecond or two.
   */
  abstract listRevision(): number | undefined;

  /** The same for a pet that was found: what this process adds leaves the number as it is, what another one commits may not. */
  abstract petRevision(): number | undefined;

  /** Forgets some of the marks from before this moment, few enough to be quick; resolves to how many, 0 where none is left. */
  abstract forgetMarks(before: Date): Promise<number>;
}
