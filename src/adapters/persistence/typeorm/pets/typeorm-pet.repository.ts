import { Added, IdempotencyKey, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Database } from '../database.js';
import { Engine } from '../engines/engine.js';
import { GroupCommit } from './group-commit.js';
import { addAlone, Addition, addTogether, forgetKeys } from './idempotent-add.js';
import { KeysUnderWay } from './keys-under-way.js';
import { petTable } from './pet.schema.js';

const FIND_PET = `SELECT ${petTable.select} FROM pet WHERE id = ?`;

/** An addition, and until when its request waits for it. */
interface WaitingAddition extends Addition {
  readonly deadline: number;
}

/** Pets in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding = new GroupCommit(
    (additions: readonly WaitingAddition[]) =>
      this.commit(additions.length, additions.at(-1)!.deadline, (engine) => addTogether(engine, additions)),
    ({ deadline }) => this.database.checkDeadline(deadline),
  );
  private readonly keysUnderWay = new KeysUnderWay();

  /** How often this process has written: what it writes adds to the lists, and changes no pet that is there. */
  private ownChanges = 0;

  constructor(private readonly database: Database) {
    super();
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    const pet = { ...newPet };
    return this.database.admit((deadline) => {
      if (!key) return this.adding.add({ pet, deadline });
      return this.keysUnderWay.add(key, () =>
        this.database.concurrentWriters
          ? this.commit(1, deadline, (engine) => addAlone(engine, { pet, key }))
          : this.adding.add({ pet, key, deadline }),
      );
    });
  }

  async find(id: bigint): Promise<Pet | undefined> {
    const row = await this.database.run((engine) => engine.row({ sql: FIND_PET, values: [id] }));
    return row && petTable.entity(row);
  }

  async list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    const rows = await this.database.run((engine) =>
      engine.rows(petTable.walkDown({ where: { status }, before, limit }, engine.indexHint)),
    );
    return rows.map((row) => petTable.entity(row));
  }

  listRevision(): number | undefined {
    const others = this.database.revision();
    return others === undefined ? undefined : others + this.ownChanges;
  }

  petRevision(): number | undefined {
    return this.database.revision();
  }

  forgetIdempotencyKeys(before: Date): Promise<number> {
    return this.database.run((engine) => forgetKeys(engine, before.toISOString()));
  }

  private async commit<T>(pets: number, deadline: number, add: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      return await this.database.query(add, deadline);
    } finally {
      // Even if it failed: a commit whose outcome is not known may have been one.
      this.ownChanges++;
      this.database.observer?.commit(pets);
    }
  }
}
