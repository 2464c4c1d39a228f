import { type ApiKey, call, type Fetch, type FetchResponse, type Policy, type Retry, validKey } from './call.js';
import { int64, toJson } from './json.js';
import type { components, operations } from './wire.js';

export { PetStoreError, type PetStoreErrorCode, type PetStoreErrorFields } from './pet-store-error.js';
export type { ApiKey, Fetch, FetchInit, FetchResponse, Retry } from './call.js';

type Schemas = components['schemas'];

/** Fields whose integers, which the wire types call numbers, are of another type. */
type Integers<Fields, As> = { [Name in keyof Fields]: Integer<Fields[Name], As> };
type Integer<Value, As> = Value extends number ? As : Value;

/** `available`, `pending` or `sold`. */
export type PetStatus = Schemas['PetStatus'];

/** A pet of the store. Fields that a later release adds are there too, their integers as bigints. */
export type Pet = Integers<Schemas['Pet'], bigint>;

/** A pet to add; without a status it is `available`. An integer may be a bigint, or a number up to 2^53 − 1. */
export type NewPet = Integers<Schemas['NewPet'], bigint | number>;

/** A page of a list, newest pet first. */
export interface Page {
  readonly pets: Pet[];
  /** Where the next page begins; undefined on the last page. It does not expire. */
  readonly cursor: string | undefined;
}

export interface PetStoreOptions {
  /** The address of the service, which ends in `/v1`: an http or https URL without user, query and fragment. */
  readonly baseUrl: string;
  /** The API key. A function is asked for it by each call, and once more after a 401: a rotated key is picked up. */
  readonly apiKey: ApiKey;
  /** How long one try may take until its response is complete, in milliseconds; default: 10,000. */
  readonly timeout?: number | undefined;
  /** How often a request is sent again at most; default: 5. */
  readonly retries?: number | undefined;
  /** How long a call may take with all its tries and waits, in milliseconds; of a list, each page; default: 60,000. */
  readonly deadline?: number | undefined;
  /** What sends the requests, for tests, proxies and agents; default: that of the platform. */
  readonly fetch?: Fetch | undefined;
  /** Is called before each wait for the next try. What it throws ends the call. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface CreatePetOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters: however often the pet is sent with it within 24 hours, one is added. Default: a
   * random UUID for all tries of the call. Give one to go on after a restart of the client.
   */
  readonly idempotencyKey?: string | undefined;
}

type Query = NonNullable<operations['listPets']['parameters']['query']>;

/** `limit` is the size of a page: 1 to 100, default 20. `cursor` is that of a page with the same `status`. */
export type ListPetsOptions = CallOptions & { readonly [Name in keyof Query]?: Query[Name] | undefined };

/**
 * A client of the pet store. Every method rejects with a `TypeError` for what cannot be sent, and otherwise with a
 * `PetStoreError`.
 */
export class PetStore {
  readonly #baseUrl: string;
  readonly #policy: Policy;

  /** Throws a `TypeError` if an option is invalid. */
  constructor({ baseUrl, apiKey, timeout = 10_000, retries = 5, deadline = 60_000, ...others }: PetStoreOptions) {
    this.#baseUrl = validBaseUrl(baseUrl);
    if (typeof apiKey !== 'function') validKey(apiKey);
    if (!(retries >= 0)) throw new TypeError('retries must be 0 or more.');
    // Evaluated by each request, so that one that is replaced later, as mocks do, is used.
    const { fetch = (url, init) => globalThis.fetch(url, init), onRetry } = others;
    const times = { timeout: validTime('timeout', timeout), deadline: validTime('deadline', deadline) };
    this.#policy = { apiKey, retries, fetch, onRetry, ...times };
  }

  /** Adds a pet, once however often the request is sent, and resolves to it. */
  async createPet(pet: NewPet, { signal, idempotencyKey = randomUuid() }: CreatePetOptions = {}): Promise<Pet> {
    const body = toJson({ ...pet, categoryId: int64('categoryId', pet.categoryId) });
    if (typeof idempotencyKey !== 'string' || !/^[!-~]{1,255}$/.test(idempotencyKey))
      throw new TypeError('idempotencyKey must have 1 to 255 visible ASCII characters.');
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
    return call(this.#policy, { method: 'POST', url: `${this.#baseUrl}/pets`, headers, body }, petOf, signal);
  }

  /** Iterates over the pets, newest first: each that exists at the beginning once, whatever is added meanwhile. */
  async *listPets(options: ListPetsOptions = {}): AsyncGenerator<Pet, void, undefined> {
    for await (const { pets } of this.pages(options)) yield* pets;
  }

  /** Iterates over the pages of listPets; there is at least one. */
  async *pages({ signal, ...query }: ListPetsOptions = {}): AsyncGenerator<Page, void, undefined> {
    let cursor = query.cursor;
    do {
      const url = new URL(`${this.#baseUrl}/pets`);
      for (const [name, value] of Object.entries({ ...query, cursor }))
        if (value !== undefined) url.searchParams.set(name, String(value));
      const page = await call(this.#policy, { method: 'GET', url: url.href }, pageOf, signal);
      yield page;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  /**
   * Resolves to one pet; rejects with `pet_not_found` if there is none.
   *
   * @deprecated A release of the service on or after 5 December 2030 removes it. Use `listPets` with a `status`.
   */
  async getPet(id: bigint | number, { signal }: CallOptions = {}): Promise<Pet> {
    return call(this.#policy, { method: 'GET', url: `${this.#baseUrl}/pets/${int64('id', id)}` }, petOf, signal);
  }

  /** Exact JSON of pets: `JSON.stringify` throws on a bigint. */
  static stringify(pets: Pet | NewPet | readonly (Pet | NewPet)[]): string {
    return toJson(pets);
  }
}

function validBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#]/.test(url.href))
    return url.href.replace(/\/$/, '');
  // It does not repeat the text, which may contain a secret.
  throw new TypeError('baseUrl must be an http or https URL without user, query and fragment.');
}

function validTime(name: string, milliseconds: number): number {
  if (!(milliseconds > 0)) throw new TypeError(`${name} must be a number of milliseconds above 0.`);
  // The most that timers take.
  return Math.min(milliseconds, 2 ** 31 - 1);
}

/** A UUID of version 4 (RFC 9562). Pages without https have no `crypto.randomUUID`. */
function randomUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const variant = '89ab'[(bytes[8] as number) & 3] as string;
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, `$1-$2-4$3-${variant}$4-`);
}

/** The body, if it is a pet. */
function petOf(body: unknown): Pet | undefined {
  const { id, categoryId } = Object(body) as Partial<Pet>;
  return typeof id === 'bigint' && typeof categoryId === 'bigint' ? (body as Pet) : undefined;
}

/** A page, if the body is an array of pets. The `Link` with `rel="next"` (RFC 8288) has the cursor of the next one. */
function pageOf(body: unknown, headers: FetchResponse['headers']): Page | undefined {
  if (!Array.isArray(body) || !body.every(petOf)) return undefined;
  const links = [...(headers.get('link') ?? '').matchAll(/<([^<>]*)>([^<>]*)/g)];
  const next = links.find(([, , parameters = '']) => /;\s*rel="?next\b/i.test(parameters))?.[1];
  const cursor = new URLSearchParams(next?.split('?')[1]).get('cursor') ?? undefined;
  return { pets: body as Pet[], cursor };
}
