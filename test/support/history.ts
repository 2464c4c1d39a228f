import { Pet } from '../../src/domain/pets/pet.js';
import { PetQuery, PetRepository } from '../../src/application/pets/pet-repository.port.js';

/** A request of a client and its response, with the moments of both on a counter. */
interface Operation {
  readonly begun: number;
  readonly ended: number;
  /** The pet that was added; absent for a read. */
  readonly added?: Pet;
  /** What was read; absent for an add. */
  readonly read?: {
    readonly pets: readonly Pet[];
    /** Whether the read would have returned this pet if it had existed. */
    readonly covers: (pet: Pet) => boolean;
  };
}

/** Records what clients in one process add and read, to check that it is linearizable. */
export class History {
  private readonly operations: Operation[] = [];
  private clock = 0;

  /** Adds a pet. If that is rejected, no read may return it. */
  async add(pets: PetRepository, name: string, status: Pet['status']): Promise<Pet> {
    const begun = this.clock++;
    const { pet } = await pets.add({ name, categoryId: 1n, status });
    this.operations.push({ begun, ended: this.clock++, added: pet });
    return pet;
  }

  async find(pets: PetRepository, id: bigint): Promise<void> {
    const begun = this.clock++;
    const pet = await pets.find(id);
    const read = { pets: pet ? [pet] : [], covers: (other: Pet) => other.id === id };
    this.operations.push({ begun, ended: this.clock++, read });
  }

  async list(pets: PetRepository, query: PetQuery): Promise<void> {
    const begun = this.clock++;
    const list = await pets.list(query);
    const { status, maxId, limit } = query;
    const lowest = list.length === limit ? list.at(-1)!.id : 0n;
    const covers = (pet: Pet) =>
      pet.id >= lowest && (status === undefined || pet.status === status) && (maxId === undefined || pet.id <= maxId);
    this.operations.push({ begun, ended: this.clock++, read: { pets: list, covers } });
  }

  /**
   * Why the history is not linearizable; undefined if it is.
   *
   * Pets are added and never changed or removed. So an order of the operations explains a read if and only if the pets
   * that it returned come before it, and those that it covers and did not return come after it. Each such constraint is
   * an edge between two operations, and so is the end of one before the begin of another. A total order that respects
   * every edge exists if and only if the edges form no cycle.
   */
  contradiction(): string | undefined {
    const adds = this.operations.filter(({ added }) => added);
    const edges = new Map<Operation, Operation[]>(this.operations.map((each) => [each, []]));
    for (const one of this.operations)
      for (const other of this.operations) if (one.ended < other.begun) edges.get(one)?.push(other);
    for (const operation of this.operations) {
      const { read } = operation;
      if (!read) continue;
      const shown = new Map(read.pets.map((pet) => [pet.id, pet]));
      for (const add of adds) {
        const pet = add.added!;
        const seen = shown.get(pet.id);
        if (seen) {
          if (seen.name !== pet.name || seen.status !== pet.status || !read.covers(pet))
            return `Not as added: ${seen.name}`;
          edges.get(add)?.push(operation);
          shown.delete(pet.id);
        } else if (read.covers(pet)) edges.get(operation)?.push(add);
      }
      if (shown.size > 0) return `Never added: ${[...shown.values()].map(({ name }) => name).join()}`;
      if (read.pets.some(({ id }, i) => i > 0 && id >= read.pets[i - 1]!.id)) return 'Not in order.';
    }
    // Kahn's algorithm: what remains is in a cycle or after one.
    const pointedAt = new Map(this.operations.map((each) => [each, 0]));
    for (const each of edges.values()) for (const to of each) pointedAt.set(to, pointedAt.get(to)! + 1);
    const free = this.operations.filter((each) => pointedAt.get(each) === 0);
    for (const each of free) {
      for (const to of edges.get(each)!) {
        pointedAt.set(to, pointedAt.get(to)! - 1);
        if (pointedAt.get(to) === 0) free.push(to);
      }
    }
    const left = this.operations.filter((each) => !free.includes(each));
    if (left.length === 0) return undefined;
    const first = Math.min(...left.map(({ ended }) => ended));
    return `No order explains ${left.length} operations; the first of them ended at ${first}.`;
  }
}
