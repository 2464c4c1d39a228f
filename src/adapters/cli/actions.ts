import { ApiKeyService } from '../../application/keys/api-key.service.js';
import type { Finding } from '../../application/finding.js';
import { PetService } from '../../application/pets/pet.service.js';
import type { RestoreReport } from '../persistence/typeorm/backup-store.js';
import type { CopyProgress, CopyReport } from '../persistence/typeorm/copy-store.js';
import type { SchemaStep } from '../persistence/typeorm/schema-steps.js';
import type { Terminal } from './progress-bar.js';
import type { Setting } from './setting.js';

/** Takes a line for standard output. */
export type Print = (line: string) => void;

/** What the command knows of the program, and of where it writes. */
export interface Surroundings {
  readonly version: string;
  readonly settings: readonly Setting[];
  /** What progress is drawn on, if it is a terminal. */
  readonly terminal: Terminal;
  /** Whether standard output is a terminal that has colours. */
  readonly hasColours: boolean;
}

/** What the commands can have done for them. */
export interface Actions {
  /** Serves until it is told to stop, with these settings before those of the environment. */
  serve(settings: Readonly<Record<string, string>>): Promise<void>;
  /** Opens the store, lends its keys, and closes it. */
  withKeys<T>(use: (keys: ApiKeyService) => Promise<T>): Promise<T>;
  /** Opens the store, lends its pets, and closes it. */
  withPets<T>(use: (pets: PetService) => Promise<T>): Promise<T>;
  /** The migrations, oldest first. */
  migrations(): Promise<SchemaStep[]>;
  /** Applies all migrations that are not, and resolves to their names. */
  migrate(): Promise<string[]>;
  /** Takes the newest migration back, and resolves to its name; undefined if none is applied. */
  revert(): Promise<string | undefined>;
  /** Copies the store at one URL into the empty one at another, and compares the two. */
  copy(from: string, to: string, report: (progress: CopyProgress) => void): Promise<CopyReport>;
  /** Looks at everything that the service rests on, and changes nothing. */
  check(): Promise<Finding[]>;
  /** Makes a backup of the configured store in a file that is not there yet, and says what is in it. */
  backup(file: string): Promise<CopyReport>;
  /** Puts a backup in the place of the configured store, and says what is in it, and where what was there is kept. */
  restore(file: string): Promise<RestoreReport>;
  /** The OpenAPI document, in the form asked for. */
  openApi(form: 'json' | 'yaml'): Promise<string>;
}
