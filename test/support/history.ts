import { Pet } from '../../src/domain/pets/pet.js';
import { PetQuery, PetRepository } from '../../src/application/pets/pet-repository.port.js';

/** What a client asked and was answered, and the moments of both on a clock that counts. */
interface Operation {
  readonly begun: number;
  readonly ended: number;
  /** The pet that was added; absent if it is a read. */
  readonly added?: Pet;
  /** What was read; absent if it is an addition. */
  readonly read?: {
    readonly pets: readonly Pet[];
    /** Whether the read would have shown this pet if it had been there. */
    readonly covers: (pet: Pet) => boolean;
  };
}

/** Takes down what clients of one catalogue, in one process, ask and are answered. */
export class History {
  private readonly operations: Operation[] = [];
  private clock = 0;

  /** A pet that was there before. */
  note(pet: Pet): void {
    this.operations.push({ begun: this.clock++, ended: this.clock++, added: pet });
  }

  /** Adds a pet. If that is rejected, it must not be seen. */
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
    const { status, before, limit } = query;
    const lowest = list.length === limit ? list.at(-1)!.id : 0n;
    const covers = (pet: Pet) =>
      pet.id >= lowest && (status === undefined || pet.status === status) && (before === undefined || pet.id < before);
    this.operations.push({ begun, ended: this.clock++, read: { pets: list, covers } });
  }

  /**
   * What no catalogue can have answered that does one operation after the other, each between its begin and its end; undefined if one
   * can have.
   *
   * Pets are added and never changed or removed, so that an order explains a read if and only if the pets that it shows come before it,
   * and those that it would show and does not come behind it. Both, and each operation that ended before another one began, is an arrow
   * between two operations: an order that has all arrows point forward is linear, explains every read and keeps to the clock, and there
   * is one if and only if no arrows make a circle. Nothing is left to be searched for, as it is where values are overwritten.
   */
  contradiction(): string | undefined {
    const additions = this.operations.filter(({ added }) => added);
    const arrows = new Map<Operation, Operation[]>(this.operations.map((each) => [each, []]));
    for (const one of this.operations)
      for (const other of this.operations) if (one.ended < other.begun) arrows.get(one)?.push(other);
    for (const operation of this.operations) {
      const { read } = operation;
      if (!read) continue;
      const shown = new Map(read.pets.map((pet) => [pet.id, pet]));
      for (const addition of additions) {
        const pet = addition.added!;
        const seen = shown.get(pet.id);
        if (seen) {
          if (seen.name !== pet.name || seen.status !== pet.status || !read.covers(pet))
            return `Not as added: ${seen.name}`;
          arrows.get(addition)?.push(operation);
          shown.delete(pet.id);
        } else if (read.covers(pet)) arrows.get(operation)?.push(addition);
      }
      if (shown.size > 0) return `Never added: ${[...shown.values()].map(({ name }) => name).join()}`;
      if (read.pets.some(({ id }, i) => i > 0 && id >= read.pets[i - 1]!.id)) return 'Not in order.';
    }
    // Takes away what no arrow points to, until nothing is left, or each that is left is in a circle or behind one.
    const pointedAt = new Map(this.operations.map((each) => [each, 0]));
    for (const each of arrows.values()) for (const to of each) pointedAt.set(to, pointedAt.get(to)! + 1);
    const free = this.operations.filter((each) => pointedAt.get(each) === 0);
    for (const each of free) {
      for (const to of arrows.get(each)!) {
        pointedAt.set(to, pointedAt.get(to)! - 1);
        if (pointedAt.get(to) === 0) free.push(to);
      }
    }
    const left = this.operations.filter((each) => !free.includes(each));
    if (left.length === 0) return undefined;
    return `No order explains ${left.length} operations, among them the read that ended first of them at ${Math.min(...left.map(({ ended }) => ended))}.`;
  }
}
