import { Added, Once, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Database } from '../database.js';
import { Addition, SELECT_PET } from '../engines/engine.js';
import { GroupCommit } from './group-commit.js';
import { Kept } from '../kept.js';
import { petOf } from '../rows.js';

const FIND_PET = `${SELECT_PET} WHERE id = ?`;

/** The most marks forgotten in one statement, so that no writer waits long for it. */
const MAX_FORGOTTEN = 1_000;

/** The most lists kept, of 101 animals at most each, and the most animals kept by themselves. */
const MAX_LISTS = 64;
const MAX_PETS = 10_000;

/** Animals in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding = new GroupCommit((additions: readonly Addition[]) => this.commit(additions));

  /** How often this process has written: what it writes adds to the lists, and changes no animal that is there. */
  private ownChanges = 0;

  private readonly lists = new Kept<string, readonly Pet[]>(MAX_LISTS);
  private readonly pets = new Kept<bigint, Pet | undefined>(MAX_PETS);

  constructor(private readonly database: Database) {
    super();
  }

  add({ name, categoryId, status }: NewPet, once?: Once): Promise<Added> {
    const addition = { pet: { name, categoryId, status }, once };
    return once && this.database.twinsWait ? this.addAlone(addition) : this.adding.add(addition);
  }

  find(id: bigint): Promise<Pet | undefined> {
    return this.pets.get(id, this.database.revision(), () => this.seek(id));
  }

  list(query: PetQuery): Promise<readonly Pet[]> {
    const others = this.database.revision();
    const revision = others === undefined ? undefined : others + this.ownChanges;
    return this.lists.get(`${query.limit} ${query.status ?? ''} ${query.before ?? ''}`, revision, () =>
      this.read(query),
    );
  }

  async forgetMarks(before: Date): Promise<number> {
    return this.database.run((engine) => engine.forgetMarks(before.toISOString(), MAX_FORGOTTEN));
  }

  private async seek(id: bigint): Promise<Pet | undefined> {
    const row = await this.database.run((engine) => engine.row(FIND_PET, [id]));
    return row && petOf(row);
  }

  private async read({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
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
