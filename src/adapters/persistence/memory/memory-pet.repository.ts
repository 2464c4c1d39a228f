import { IdempotencyKeyReused } from '../../../application/errors.js';
import {
  Added,
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  PetQuery,
  PetRepository,
} from '../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../domain/pets/pet.js';

/** Pets in this process's memory, gone with it: for tests, and for trying the service out. */
export class MemoryPetRepository extends PetRepository {
  /** The pet with the id n stands at n − 1. Frozen copies go in, so that the same ones can come out. */
  private readonly pets: Pet[] = [];

  /** By scope and key, the oldest first, with the pet that was added. */
  private readonly keys = new Map<string, IdempotencyKey & { readonly pet: Pet }>();

  // Not declared async if nothing is awaited: the answer is there, and one promise carries it.
  add(pet: NewPet, key?: IdempotencyKey): Promise<Added> {
    if (!key) return Promise.resolve({ pet: this.store(pet), replayed: false });
    const name = `${key.scope} ${key.key}`;
    const earlier = this.keys.get(name);
    if (earlier && key.at.getTime() - earlier.at.getTime() < IDEMPOTENCY_KEY_LIFETIME) {
      if (earlier.fingerprint !== key.fingerprint) return Promise.reject(new IdempotencyKeyReused());
      return Promise.resolve({ pet: earlier.pet, replayed: true });
    }
    const added = this.store(pet);
    this.keys.delete(name);
    this.keys.set(name, { ...key, pet: added });
    return Promise.resolve({ pet: added, replayed: false });
  }

  find(id: bigint): Promise<Pet | undefined> {
    return Promise.resolve(id > 0n ? this.pets[Number(id) - 1] : undefined);
  }

  list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    const found: Pet[] = [];
    const end = before === undefined ? this.pets.length : Math.min(this.pets.length, Number(before) - 1);
    for (let i = end - 1; i >= 0 && found.length < limit; i--) {
      const pet = this.pets[i];
      if (pet && (status === undefined || pet.status === status)) found.push(pet);
    }
    return Promise.resolve(found);
  }

  version(): number {
    return this.pets.length;
  }

  check(): Promise<void> {
    return Promise.resolve();
  }

  deleteIdempotencyKeys(before: Date): Promise<number> {
    let forgotten = 0;
    for (const [name, { at }] of this.keys) {
      if (at >= before || forgotten === 1_000) break;
      this.keys.delete(name);
      forgotten++;
    }
    return Promise.resolve(forgotten);
  }

  private store(newPet: NewPet): Pet {
    // A text of its own: one that was cut out of a body holds all of that.
    const name = Buffer.from(newPet.name).toString();
    const pet = Object.freeze({ id: BigInt(this.pets.length + 1), ...newPet, name });
    this.pets.push(pet);
    return pet;
  }
}
