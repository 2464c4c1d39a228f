import type { Finding } from '../../application/finding.js';
import type { ApiKeyService } from '../../application/keys/api-key.service.js';
import type { PetService } from '../../application/pets/pet.service.js';
import type { PersistentUrl } from '../../settings/database-url.js';

/** The services of an open database. */
export interface Services {
  readonly keys: ApiKeyService;
  readonly pets: PetService;
}

/** What a command may do with the database. `change` and `read` fail where a SQLite file would be created. */
export type Access = 'create' | 'change' | 'read';

/** What the commands need from the rest of the program. */
export interface CommandContext {
  /** `DATABASE_URL`. Throws `UsageError` if it is invalid, or the database is lost with its process. */
  readonly databaseUrl: () => PersistentUrl;
  /** The URL that an option gives, or the variable that it names; throws `UsageError` in the same way. */
  readonly urlOf: (option: string, given: string) => PersistentUrl;
  readonly serve: () => Promise<void>;
  /** Opens the database for as long as `use` takes. */
  readonly withServices: <T>(use: (services: Services) => Promise<T>, access?: Access) => Promise<T>;
  readonly check: () => Promise<Finding[]>;
  /** The OpenAPI document as YAML. */
  readonly openApi: () => Promise<string>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}
