import { PetQuery, PetRepository } from '../../../application/pet-repository.port.js';
import { NewPet, Pet } from '../../../domain/pets/pet.js';

/** Animals in this process's memory, gone with it: for tests, and for trying the service out. */
export class MemoryPetRepository extends PetRepository {
  /** The animal with the id n stands at n − 1. Frozen copies go in, so that the same ones can come out. */
  private readonly pets: Pet[] = [];

  // Not declared async where nothing is awaited: the answer is there, and one promise carries it.
  add({ name, categoryId, status }: NewPet): Promise<Pet> {
    const pet = Object.freeze({ id: BigInt(this.pets.length + 1), name, categoryId, status });
    this.pets.push(pet);
    return Promise.resolve(pet);
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
}
