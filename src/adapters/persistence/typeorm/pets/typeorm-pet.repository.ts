import { Added, Once, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Database } from '../database.js';
import { Addition, SELECT_PET } from '../engines/engine.js';
import { GroupCommit } from './group-commit.js';
import { petOf } from '../rows.js';

const FIND_PET = `${SELECT_PET} WHERE id = ?`;

/** The most marks forgotten in one statement, so that no writer waits long for it. */
const MAX_FORGOTTEN = 1_000;

/** Animals in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding = new GroupCommit((additions: readonly Addition[]) => this.commit(additions));

  /** How often this process has written: what it writes adds to the lists, and changes no pet that is there. */
  private ownChanges = 0;

  constructor(private readonly database: Database) {
    super();
  }

  add({ name, categoryId, status }: NewPet, once?: Once): Promise<Added> {
    const addition = { pet: { name, categoryId, status }, once };
    return once && this.database.twinsWait ? this.addAlone(addition) : this.adding.add(addition);
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const row = await this.database.run((engine) => engine.row(FIND_PET, [id]));
    return row && petOf(row);
  }

  async list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    const rows = await this.database.run((engine) => {
      const { all, allBelow, ofStatus, ofStatusBelow } = engine.lists;
      if (status === undefined) {
        return before === undefined ? engine.rows(all, [limit]) : engine.rows(allBelow, [before, limit]);
      }
      return before === undefined
        ? engine.rows(ofStatus, [status, limit])
        : engine.rows(ofStatusBelow, [status, before, limit]);
    });
    return rows.map(petOf);
  }

  listRevision(): number | undefined {
    const others = this.database.revision();
    return others === undefined ? undefined : others + this.ownChanges;
  }

  petRevision(): number | undefined {
    return this.database.revision();
  }

  async forgetMarks(before: Date): Promise<number> {
    return this.database.run((engine) => engine.forgetMarks(before.toISOString(), MAX_FORGOTTEN));
  }

  /** Adds an animal in a transaction of its own: what may have to wait keeps nothing else waiting. */
  private async addAlone(addition: Addition): Promise<Added> {
    const [outcome] = await this.commit([addition]);
    if (outcome instanceof Error) throw outcome;
    return outcome as Added;
  }

  private async commit(additions: readonly Addition[]): Promise<(Added | Error)[]> {
    try {
      return await this.database.run((engine) => engine.addPets(additions));
    } finally {
      // Even where it failed: a commit whose outcome is not known may have been one.
      this.ownChanges++;
      this.database.observer?.commit(additions.length);
    }
  }
}
