import { isInt64 } from '../domain/int64.js';
import { DEFAULT_STATUS, NewPet, Pet, PetStatus } from '../domain/pets/pet.js';
import { Cursors } from './cursors.js';
import { PetNotFound } from './errors.js';
import { PetRepository } from './pet-repository.port.js';

/** Which page of the list to show. */
export interface PageQuery {
  /** Only animals of this status; all of them where absent. */
  readonly status?: PetStatus;
  /** The `next` of the page before; the first page where absent. */
  readonly cursor?: string;
  /** The most animals on the page, 1 to 100. */
  readonly limit: number;
}

/** A page of the list, newest first. */
export interface PetPage {
  readonly pets: readonly Pet[];
  /** The cursor of the page that follows; absent on the last one. */
  readonly next?: string;
}

/** The three operations on the catalogue. All of them reject with `StoreUnavailable` while the store cannot answer. */
export class PetService {
  /** The page made of each array of the repository: the same array, the same page, for as long as the repository keeps it. */
  private readonly pages = new WeakMap<readonly Pet[], PetPage>();

  constructor(
    private readonly pets: PetRepository,
    private readonly cursors: Cursors,
  ) {}

  /** One page of the animals that match; rejects with `CursorRefused` where the cursor is none of this list's. */
  async list({ status, cursor, limit }: PageQuery): Promise<PetPage> {
    const before = cursor === undefined ? undefined : await this.cursors.read(cursor, status);
    // One more than is shown tells whether a page follows.
    const found = await this.pets.list({ status, before, limit: limit + 1 });
    return this.pages.get(found) ?? this.page(found, limit, status);
  }

  /** Adds an animal, `available` unless it says otherwise, and resolves once it is durable. */
  create(pet: Omit<NewPet, 'status'> & { readonly status?: PetStatus }): Promise<Pet> {
    return this.pets.add({ name: pet.name, categoryId: pet.categoryId, status: pet.status ?? DEFAULT_STATUS });
  }

  /** The animal with this id; rejects with `PetNotFound` where there is none. Any integer may be asked for. */
  async get(id: bigint): Promise<Pet> {
    const pet = isInt64(id) ? await this.pets.find(id) : undefined;
    if (!pet) throw new PetNotFound();
    return pet;
  }

  private async page(found: readonly Pet[], limit: number, status: PetStatus | undefined): Promise<PetPage> {
    const last = found.length > limit ? found[limit - 1] : undefined;
    const page = last
      ? { pets: found.slice(0, limit), next: await this.cursors.write(last.id, status) }
      : { pets: found };
    this.pages.set(found, page);
    return page;
  }
}
