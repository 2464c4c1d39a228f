import { PetQuery, PetRepository } from '../../../application/pet-repository.port.js';
import { NewPet, Pet, PetStatus } from '../../../domain/pets/pet.js';
import { Database } from './database.js';
import { Row } from './engines/engine.js';
import { GroupCommit } from './group-commit.js';

const SELECT = 'SELECT id, name, category_id, status FROM pet';

/** Animals in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding = new GroupCommit((pets: readonly NewPet[]) =>
    this.database.run((engine) => engine.insertPets(pets)),
  );

  constructor(private readonly database: Database) {
    super();
  }

  async add(pet: NewPet): Promise<Pet> {
    const id = await this.adding.add(pet);
    return { id, name: pet.name, categoryId: pet.categoryId, status: pet.status };
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const [row] = await this.database.run((engine) => engine.rows(`${SELECT} WHERE id = ?`, [id]));
    return row && petOf(row);
  }

  async list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    const conditions: string[] = [];
    const values: unknown[] = [];
    if (status !== undefined) {
      conditions.push('status = ?');
      values.push(status);
    }
    if (before !== undefined) {
      conditions.push('id < ?');
      values.push(before);
    }
    values.push(limit);
    const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
    const rows = await this.database.run((engine) => engine.rows(`${SELECT}${where} ORDER BY id DESC LIMIT ?`, values));
    return rows.map(petOf);
  }
}

function petOf([id, name, categoryId, status]: Row): Pet {
  return {
    id: BigInt(id as string | bigint),
    name: name as string,
    categoryId: BigInt(categoryId as string | bigint),
    status: status as PetStatus,
  };
}
