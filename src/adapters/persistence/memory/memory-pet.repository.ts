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
  /** The pet with the id n stands at n − 1. */
  private readonly pets: Pet[] = [];

  /** By scope and key, with the pet that was added; the oldest first. */
  private readonly keys = new Map<string, { readonly fingerprint: string; readonly at: number; readonly pet: Pet }>();

  // Not declared async if nothing is awaited: the answer is there, and one promise carries it.
  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    const name = key && `${key.scope} ${key.key}`;
    this.deleteExpiredKeys();
    const earlier = name && this.keys.get(name);
    if (earlier) {
      if (earlier.fingerprint !== key.fingerprint) return Promise.reject(new IdempotencyKeyReused());
      return Promise.resolve({ pet: earlier.pet, replayed: true });
    }
    const pet = { id: BigInt(this.pets.length + 1), ...newPet };
    this.pets.push(pet);
    if (name) this.keys.set(name, { fingerprint: key.fingerprint, at: Date.now(), pet });
    return Promise.resolve({ pet, replayed: false });
  }

  find(id: bigint): Promise<Pet | undefined> {
    return Promise.resolve(this.pets[Number(id) - 1]);
  }

  list({ status, maxId, limit }: PetQuery): Promise<readonly Pet[]> {
    const found: Pet[] = [];
    const end = Math.min(this.pets.length, Number(maxId ?? Infinity));
    for (let i = end - 1; i >= 0 && found.length < limit; i--) {
      const pet = this.pets[i]!;
      if (status === undefined || pet.status === status) found.push(pet);
    }
    return Promise.resolve(found);
  }

  version(): number {
    return this.pets.length;
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  private deleteExpiredKeys(): void {
    for (const [name, { at }] of this.keys) {
      if (at > Date.now() - IDEMPOTENCY_KEY_LIFETIME) return;
      this.keys.delete(name);
    }
  }
}
