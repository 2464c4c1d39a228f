import { IdempotencyKeyReused } from '../../../application/errors.js';
import { Added, MARK_LIFETIME, Once, PetQuery, PetRepository } from '../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../domain/pets/pet.js';

/** Animals in this process's memory, gone with it: for tests, and for trying the service out. */
export class MemoryPetRepository extends PetRepository {
  /** The animal with the id n stands at n − 1. Frozen copies go in, so that the same ones can come out. */
  private readonly pets: Pet[] = [];

  /** By scope and key. The oldest mark comes first. */
  private readonly marks = new Map<string, { fingerprint: string; at: Date; pet: Pet }>();

  // Not declared async where nothing is awaited: the answer is there, and one promise carries it.
  add(pet: NewPet, once?: Once): Promise<Added> {
    const name = once && `${once.scope} ${once.key}`;
    const mark = name === undefined ? undefined : this.marks.get(name);
    if (once && mark && once.at.getTime() - mark.at.getTime() < MARK_LIFETIME) {
      if (mark.fingerprint !== once.fingerprint) return Promise.reject(new IdempotencyKeyReused());
      return Promise.resolve({ pet: mark.pet, replayed: true });
    }
    const added = this.store(pet);
    if (once && name !== undefined) {
      this.marks.delete(name);
      this.marks.set(name, { fingerprint: once.fingerprint, at: once.at, pet: added });
    }
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

  listRevision(): number {
    return this.pets.length;
  }

  petRevision(): number {
    return 0;
  }

  forgetMarks(before: Date): Promise<number> {
    let forgotten = 0;
    for (const [name, { at }] of this.marks) {
      if (at >= before || forgotten === 1_000) break;
      this.marks.delete(name);
      forgotten++;
    }
    return Promise.resolve(forgotten);
  }

  private store({ name, categoryId, status }: NewPet): Pet {
    const pet = Object.freeze({ id: BigInt(this.pets.length + 1), name, categoryId, status });
    this.pets.push(pet);
    return pet;
  }
}
