import { Added, IdempotencyKey, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Database } from '../database.js';
import type { Asker } from '../database-observer.js';
import { Engine } from '../engines/engine.js';
import { GroupCommit } from './group-commit.js';
import { addAlone, Addition, addTogether, forgetKeys } from './idempotent-add.js';
import { KeysUnderWay } from './keys-under-way.js';
import { findOne, findTogether, isShareable, listOne, listTogether } from './read-together.js';
import { SharedReads } from './shared-reads.js';

/** The most finds, and the most lists, that share a round trip, so that no answer takes long to read at a time. */
const MOST_FINDS = 64;
const MOST_LISTS = 32;

/** What a read of pets does, for observers. */
const READ = 'SELECT pet';

/** An addition, whose request it is, and until when that waits for it. */
interface WaitingAddition extends Addition, Asker {
  readonly deadline: number;
}

/** Pets in the table `pet`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adding: GroupCommit<WaitingAddition, Added>;
  private readonly keysUnderWay = new KeysUnderWay();
  private readonly finds = this.sharing(MOST_FINDS, findTogether, (id: bigint) => id);
  private readonly lists = this.sharing(MOST_LISTS, listTogether, placeOf, longer);
  private readonly listsOfStatus = this.sharing(MOST_LISTS, listTogether, placeOf, longer);

  /** How often this process has written: what it writes adds to the lists, and changes no pet that is there. */
  private ownChanges = 0;

  constructor(private readonly database: Database) {
    super();
    this.adding = new GroupCommit(
      (additions) => this.commit(additions, additions.at(-1)!.deadline, (engine) => addTogether(engine, additions)),
      ({ deadline }) => database.checkDeadline(deadline),
      database.concurrentWriters,
    );
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    const pet = { ...newPet };
    const callers = this.database.callers();
    return this.database.admit((deadline) => {
      if (!key) return this.adding.add({ pet, deadline, callers });
      return this.keysUnderWay.add(key, () =>
        this.database.concurrentWriters
          ? this.commit([{ callers }], deadline, (engine) => addAlone(engine, { pet, key }), true)
          : this.adding.add({ pet, key, deadline, callers }),
      );
    });
  }

  find(id: bigint): Promise<Pet | undefined> {
    return this.database.sharesReads
      ? this.database.admit((deadline) => this.finds.read(id, deadline))
      : this.database.read(READ, (engine) => findOne(engine, id));
  }

  list(query: PetQuery): Promise<readonly Pet[]> {
    if (!this.database.sharesReads || !isShareable(query))
      return this.database.read(READ, (engine) => listOne(engine, query));
    const { status, before, limit } = query;
    const lists = status === undefined ? this.lists : this.listsOfStatus;
    return this.database.admit(async (deadline) => {
      const pets = await lists.read({ status, before, limit }, deadline);
      return pets.length > limit ? pets.slice(0, limit) : pets;
    });
  }

  listRevision(): number | undefined {
    const others = this.database.revision();
    return others === undefined ? undefined : others + this.ownChanges;
  }

  petRevision(): number | undefined {
    return this.database.revision();
  }

  forgetIdempotencyKeys(before: Date): Promise<number> {
    return this.database.write('DELETE idempotency_key', (engine) => forgetKeys(engine, before.toISOString()));
  }

  private async commit<T>(
    additions: readonly Asker[],
    deadline: number,
    add: (engine: Engine) => Promise<T>,
    isRepeatable = false,
  ): Promise<T> {
    try {
      return await this.database.commit(additions, () =>
        this.database.query('INSERT pet', add, deadline, isRepeatable),
      );
    } finally {
      // Even if it failed: a commit whose outcome is not known may have been one.
      this.ownChanges++;
    }
  }

  private sharing<Question, Answer>(
    most: number,
    ask: (engine: Engine, questions: readonly Question[]) => Promise<Answer[]>,
    keyOf: (question: Question) => unknown,
    widest?: (one: Question, other: Question) => Question,
  ): SharedReads<Question, Answer> {
    return new SharedReads(
      most,
      // What is shared is asked again by halves if its connection was lost, and not as it is.
      (questions, deadline, askers) =>
        this.database.query(READ, (engine) => ask(engine, questions), deadline, questions.length === 1, askers),
      keyOf,
      (deadline) => this.database.checkDeadline(deadline),
      () => this.database.callers(),
      widest,
    );
  }
}

/** Where a list begins, and in which index: of lists from the same place the longer one has the shorter one. */
function placeOf({ status, before }: PetQuery): string {
  return `${status} ${before}`;
}

function longer(one: PetQuery, other: PetQuery): PetQuery {
  return other.limit > one.limit ? other : one;
}
