import { PetStatus } from '../../domain/pets/pet.js';
import { CursorRefused } from '../errors.js';
import { Installation } from '../installation.port.js';
import { Secrets } from '../secrets.port.js';

const MAC_LENGTH = 22;

/** The form of every cursor, as a regular expression of JSON Schema: an id and its MAC in base64url. */
export const CURSOR_PATTERN = `^[0-9]{1,19}[A-Za-z0-9_-]{${MAC_LENGTH}}$`;

const FORM = new RegExp(CURSOR_PATTERN);

/**
 * Makes and reads cursors: places in the list, behind a pet. A cursor is an id and its MAC, which covers the filter too, so
 * that a cursor cannot be altered or carried over to another filter. It is valid for ever, on every instance.
 */
export class Cursors {
  private secret: Promise<string> | undefined;

  constructor(
    private readonly installation: Installation,
    private readonly secrets: Secrets,
  ) {}

  /** The cursor of the place behind the pet with this id, in the list filtered by this status. */
  async write(id: bigint, status: PetStatus | undefined): Promise<string> {
    return `${id}${await this.mac(String(id), status)}`;
  }

  /** The id behind which the cursor points; rejects with `CursorRefused` if it was not made here for this filter. */
  async read(cursor: string, status: PetStatus | undefined): Promise<bigint> {
    const id = cursor.slice(0, -MAC_LENGTH);
    // A wrong MAC gains nothing but an answer of 400, and a right one only a place in a list: there is no secret to time.
    if (!FORM.test(cursor) || cursor !== id + (await this.mac(id, status))) throw new CursorRefused();
    return BigInt(id);
  }

  private async mac(id: string, status: PetStatus | undefined): Promise<string> {
    this.secret ??= this.installation.cursorSecret();
    try {
      return this.secrets.mac(await this.secret, `${status ?? ''}:${id}`);
    } catch (error) {
      this.secret = undefined;
      throw error;
    }
  }
}
