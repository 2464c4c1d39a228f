import { EntityManager, EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { NewPet, Pet, PetStatus } from '../../../../domain/pets/pet.js';
import type { PersistentUrl } from '../../database-url.js';
import { int64 } from '../columns.js';
import { NEW_PET } from '../dialects/dialect.js';
import { dialectOf, query, type Write } from '../dialects/dialects.js';
import { failureOf, RowsDiscarded } from '../failures.js';

/** The table `pet`, for checks of the schema and for copies, not for inserts: TypeORM's own rounds ids on SQLite. */
export function petSchema(engine: PersistentUrl['engine']): EntitySchema<Pet> {
  return new EntitySchema<Pet>({
    name: 'pet',
    columns: {
      // Only an `integer` can be SQLite's AUTOINCREMENT.
      id: { ...int64, type: engine === 'sqlite' ? 'integer' : 'bigint', primary: true, generated: 'increment' },
      name: { type: 'varchar', length: 255 },
      categoryId: { ...int64, name: 'category_id' },
      status: { type: 'varchar', length: 9 },
    } satisfies Record<keyof Pet, EntitySchemaColumnOptions>,
    indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
  });
}

/** The columns that `toPet` reads. */
export const PET_COLUMNS = ['id', ...Object.keys(NEW_PET)].join(', ');

/** A row of `PET_COLUMNS`, as the driver reads it: an int64 is a bigint or a string. */
export interface PetRow {
  readonly id: bigint | string;
  readonly name: string;
  readonly category_id: bigint | string;
  readonly status: PetStatus;
}

/** The row of a new pet. */
export function toRow({ name, categoryId, status }: NewPet): Record<keyof typeof NEW_PET, unknown> {
  return { name, category_id: categoryId, status };
}

/** The pet in a row. */
export function toPet({ id, name, category_id, status }: PetRow): Pet {
  return { id: BigInt(id), name, categoryId: BigInt(category_id), status };
}

/** Runs an INSERT of pets. If rows that were inserted with their ids have the next ids, skips those, and retries. */
export async function withNextIds<T>(manager: EntityManager, run: () => Promise<T>): Promise<T> {
  const dialect = dialectOf(manager.dataSource);
  // Another instance that skips ids at the same time may move the sequence back.
  for (let retriesLeft = 3; ; retriesLeft--) {
    try {
      return await run();
    } catch (error) {
      if (!dialect.skipIds || failureOf(dialect, error) !== 'duplicate' || retriesLeft === 0) throw error;
      await manager.query(dialect.skipIds);
    }
  }
}

/** Throws `RowsDiscarded` unless an INSERT has returned as many rows as it was to store. */
export function requireStored(rows: readonly unknown[], count: number): void {
  if (rows.length === count) return;
  throw new RowsDiscarded(`${rows.length} of ${count} rows were stored: a trigger or a rule discards some.`);
}

/** Inserts pets in one statement; resolves to their ids, which ascend. */
export async function insertPets(manager: EntityManager, pets: readonly NewPet[]): Promise<bigint[]> {
  const rows = await withNextIds(manager, () =>
    query<Pick<PetRow, 'id'>>(manager, (bind, dialect) => dialect.insertPets(pets.map(toRow), bind)),
  );
  requireStored(rows, pets.length);
  // RETURNING may list them in any order.
  return rows.map(({ id }) => BigInt(id)).sort((a, b) => Number(a - b));
}

/** The pets with these ids; undefined in the place of each that does not exist. */
export async function findPets(manager: EntityManager, ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
  const distinct = [...new Set(ids)];
  const select: Write = (bind, dialect) => `SELECT ${PET_COLUMNS} FROM pet WHERE ${dialect.hasId(distinct, bind)}`;
  const pets = new Map((await query<PetRow>(manager, select)).map(toPet).map((pet) => [pet.id, pet]));
  return ids.map((id) => pets.get(id));
}
