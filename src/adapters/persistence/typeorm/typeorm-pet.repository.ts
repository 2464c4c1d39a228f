import { Added, Once, PetQuery, PetRepository } from '../../../application/pet-repository.port.js';
import { NewPet, Pet } from '../../../domain/pets/pet.js';
import { Database } from './database.js';
import { Addition } from './engines/engine.js';
import { GroupCommit } from './group-commit.js';
import { petOf } from './rows.js';

const SELECT = 'SELECT id, name, category_id, status FROM pet';

/** The most marks forgotten in one statement, so that no writer waits long for it. */
const MAX_FORGOTTEN = 1_000;

/** Animals in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding = new GroupCommit((additions: readonly Addition[]) =>
    this.database.run((engine) => engine.addPets(additions)),
  );

  constructor(private readonly database: Database) {
    super();
  }

  add({ name, categoryId, status }: NewPet, once?: Once): Promise<Added> {
    return this.adding.add({ pet: { name, categoryId, status }, once });
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

  async forgetMarks(before: Date): Promise<number> {
    return this.database.run((engine) => engine.forgetMarks(before.toISOString(), MAX_FORGOTTEN));
  }
}
