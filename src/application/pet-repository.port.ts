import { NewPet, Pet, PetStatus } from '../domain/pets/pet.js';

/** Which animals to list. */
export interface PetQuery {
  /** Only animals of this status; all of them where absent. */
  readonly status?: PetStatus;
  /** Only animals whose id is below this one; from the newest on where absent. */
  readonly before?: bigint;
  /** The most animals to return, 1 or more. */
  readonly limit: number;
}

/**
 * Where the animals are kept. Every method rejects with `StoreUnavailable` while the store cannot answer.
 * `test/contracts/pet-repository.contract.ts` has a case for each sentence, run on every adapter.
 */
export abstract class PetRepository {
  /**
   * Stores an animal and resolves to it as stored, once it would survive a crash of the process and of the machine.
   * Its id is larger than every id that this store assigned before the call. Name and categoryId come back exactly.
   */
  abstract add(pet: NewPet): Promise<Pet>;

  /** The animal with this id, or undefined where there is none. Any int64 may be asked for. */
  abstract find(id: bigint): Promise<Pet | undefined>;

  /**
   * The animals that match, by descending id, at most `limit` of them; an empty array where there are none.
   * Every animal whose `add` had resolved before the call is seen. A caller may not change the array or its animals; the
   * same array may be handed out again for as long as it is right.
   */
  abstract list(query: PetQuery): Promise<readonly Pet[]>;
}
