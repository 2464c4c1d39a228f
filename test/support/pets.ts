import { dataSourceOptions, withDataSource } from '../../src/adapters/persistence/typeorm/data-source.js';
import { clearExpiredKeys } from '../../src/adapters/persistence/typeorm/pets/pet-table.js';
import { databaseUrl, persistent } from '../../src/settings/database-url.js';
import { IdempotencyKey, PetRepository } from '../../src/application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../src/domain/pets/pet.js';
import { rawQuery } from '../stores/raw-query.js';
import { setWallClock } from './wall-clock.js';

export function newPet(fields: Partial<NewPet> = {}): NewPet {
  return { name: 'Bella', categoryId: 1n, status: 'available', ...fields };
}

export function idempotencyKey(fields: Partial<IdempotencyKey> = {}): IdempotencyKey {
  return { scope: 'a'.repeat(64), key: 'first', fingerprint: 'f'.repeat(43), ...fields };
}

/** Makes the stored idempotency keys of a database so many milliseconds older. */
export async function ageKeys(url: string, milliseconds: number): Promise<void> {
  if (url === 'memory:') setWallClock(Date.now() + milliseconds);
  else await rawQuery(url, `UPDATE pet SET requested_at = requested_at - ${milliseconds}`);
}

export function ids(pets: readonly Pet[]): bigint[] {
  return pets.map(({ id }) => id);
}

/** Adds pets one after the other, and resolves to them in that order. */
export async function addAll(pets: PetRepository, news: readonly NewPet[]): Promise<Pet[]> {
  const added: Pet[] = [];
  for (const each of news) added.push((await pets.add(each)).pet);
  return added;
}

/** Clears the expired idempotency keys of a database, as the service does every hour; resolves to their number. */
export async function clearKeys(url: string): Promise<number> {
  if (url === 'memory:') return 0;
  const options = dataSourceOptions(persistent(databaseUrl('DATABASE_URL', url)));
  return withDataSource(options, async ({ manager }) => {
    let cleared = 0;
    for (let some; (some = await clearExpiredKeys(manager)) > 0;) cleared += some;
    return cleared;
  });
}
