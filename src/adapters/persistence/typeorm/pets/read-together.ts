import { PetQuery } from '../../../../application/pets/pet-repository.port.js';
import { INT64_MIN } from '../../../../domain/int64.js';
import { Pet } from '../../../../domain/pets/pet.js';
import { Engine, LONGEST_SHARED } from '../engines/engine.js';
import { Walk } from '../table.js';
import { petTable } from './pet.schema.js';

const FIND_PET = `SELECT ${petTable.select} FROM pet WHERE id = ?`;

/** Where a row has the place of the list that it is of. */
const PLACE = petTable.columns.length;

/** Finds one pet by a query of its own. */
export async function findOne(engine: Engine, id: bigint): Promise<Pet | undefined> {
  const row = await engine.row({ sql: FIND_PET, values: [id] });
  return row && petTable.entity(row);
}

/** Reads one list by a query of its own. */
export async function listOne(engine: Engine, query: PetQuery): Promise<Pet[]> {
  const rows = await engine.rows(petTable.walkDown(walkOf(query), engine.indexHint));
  return rows.map((row) => petTable.entity(row));
}

/** Finds pets by one query, and resolves to the pet of each id. */
export async function findTogether(engine: Engine, ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
  if (!engine.together || ids.length === 1) return Promise.all(ids.map((id) => findOne(engine, id)));
  const found = new Map<bigint, Pet>();
  for (const row of await engine.rows(engine.together.find(petTable, ids))) {
    const pet = petTable.entity(row);
    found.set(pet.id, pet);
  }
  return ids.map((id) => found.get(id));
}

/** Whether the list may be read together with others. */
export function isShareable({ before, limit }: PetQuery): boolean {
  return limit <= LONGEST_SHARED && before !== INT64_MIN;
}

/** Reads lists by one query, all of one status each or all of all pets, and resolves to each of them. */
export async function listTogether(engine: Engine, queries: readonly PetQuery[]): Promise<Pet[][]> {
  if (!engine.together || queries.length === 1) return Promise.all(queries.map((query) => listOne(engine, query)));
  const lists: Pet[][] = queries.map(() => []);
  for (const row of await engine.rows(engine.together.walkDown(petTable, queries.map(walkOf)))) {
    lists[Number(row[PLACE])]?.push(petTable.entity(row));
  }
  // SQL promises no order here, and the servers keep it: then this costs a comparison for each pet.
  for (const list of lists) list.sort((a, b) => (a.id < b.id ? 1 : -1));
  return lists;
}

function walkOf({ status, before, limit }: PetQuery): Walk<Pet> {
  return { where: { status }, before, limit };
}
