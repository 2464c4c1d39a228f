import { ApiKeyService } from '../../application/api-key.service.js';
import { PetService } from '../../application/pet.service.js';

/** A step that changes the schema of the database. */
export interface Migration {
  readonly name: string;
  readonly applied: boolean;
}

/** What the commands can have done for them. */
export interface Actions {
  /** Serves until it is told to stop. */
  serve(): Promise<void>;
  /** Opens the store, lends its keys, and closes it. */
  withKeys<T>(use: (keys: ApiKeyService) => Promise<T>): Promise<T>;
  /** Opens the store, lends its animals, and closes it. */
  withPets<T>(use: (pets: PetService) => Promise<T>): Promise<T>;
  /** The migrations, oldest first. */
  migrations(): Promise<Migration[]>;
  /** Applies all migrations that are not, and resolves to their names. */
  migrate(): Promise<string[]>;
  /** Takes the newest migration back, and resolves to its name; undefined where none is applied. */
  revert(): Promise<string | undefined>;
  /** The OpenAPI document, in the form asked for. */
  openApi(form: 'json' | 'yaml'): Promise<string>;
}
