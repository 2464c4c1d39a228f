import { ApiKey, isIssuedKey, KEY_RANDOM_LENGTH, keyPrefix, keyText, retiredName } from '../../domain/keys/api-key.js';
import { ApiKeyRepository, KeyUse } from './api-key-repository.port.js';
import { KeyRefusal, KeyRefused, UsageError } from '../errors.js';
import { Secrets } from '../secrets.port.js';

/** For how long after it was asked for a key is taken for valid, in milliseconds, if the store cannot tell that it changed. */
const TRUSTED_FOR = 4_000;

/** Before when a key must end: from the year 10000 on, a time is written with more characters than the store has room for. */
const END_OF_TIME = Date.UTC(10_000, 0);

/** The most keys remembered as valid. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly key: ApiKey;
  readonly revision: number | undefined;
  /** On the monotonic clock. */
  readonly trustedUntil: number;
}

/** A use that is not stored yet: counted on every request, and so in numbers that change in place. Times as of `Date.now`, 0 for never. */
interface UnrecordedUse {
  readonly name: string;
  lastUsedAt: number;
  getPetCalls: number;
  lastGetPetAt: number;
}

/** Issues, rotates, revokes and checks API keys, and keeps count of their use. */
export class ApiKeyService {
  private readonly configured = new Map<string, ApiKey>();
  private readonly remembered = new Map<string, Remembered>();
  private unrecorded = new Map<string, UnrecordedUse>();

  /**
   * `configured` are the texts of keys that are valid besides the stored ones, for as long as the process runs. Both clocks are in
   * milliseconds: `now` is that on the wall, by which keys expire, and `elapsed` one that nobody sets.
   */
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly secrets: Secrets,
    configured: readonly string[],
    private readonly now: () => number = Date.now,
    private readonly elapsed: () => number = () => performance.now(),
  ) {
    const createdAt = new Date(now());
    for (const [index, text] of configured.entries()) {
      const digest = secrets.digest(text);
      const name = `configured-${index + 1}`;
      this.configured.set(digest, { digest, name, prefix: '', createdAt, expiresAt: null, revokedAt: null });
    }
  }

  /** Issues a key, whose name no other key has that is valid. Its text is returned here and never again. */
  async create(name: string, expiresAt: Date | null = null): Promise<{ text: string; key: ApiKey }> {
    if (!/^[\x21-\x7e]([\x20-\x7e]{0,62}[\x21-\x7e])?$/.test(name)) {
      throw new UsageError(
        'The name of a key must be 1 to 64 printable ASCII characters, without a space at either end.',
      );
    }
    const namesake = (await this.keys.list()).find((key) => key.name === name && this.isValid(key));
    if (namesake) {
      throw new UsageError(
        `A key with the name "${name}" is there (${namesake.prefix}); revoke it, or take another name.`,
      );
    }
    const issued = this.make(name, expiresAt);
    await this.keys.add(issued.key);
    return issued;
  }

  /**
   * Issues a key in the place of the one valid key that has this name or this prefix, and that goes on under its `retiredName` for so many
   * milliseconds, or until its own end if that is sooner. If no expiry is given, the new one ends after as long as the old one was made for.
   */
  async rotate(
    nameOrPrefix: string,
    overlap: number,
    expiresAt?: Date,
  ): Promise<{ text: string; key: ApiKey; old: ApiKey }> {
    const all = await this.keys.list();
    const found = this.oneCalled(nameOrPrefix, all);
    if (!this.isValid(found)) {
      throw new UsageError(`The key "${nameOrPrefix}" has ended; "petstore keys create" makes another of its name.`);
    }
    const name = retiredName(found.name);
    const namesake = all.find((key) => key.name === name && this.isValid(key));
    if (namesake) {
      const end = namesake.expiresAt ? `, or wait until it ends on ${namesake.expiresAt.toISOString()}` : '';
      throw new UsageError(`A key with the name "${name}" is still valid (${namesake.prefix}); revoke it${end}.`);
    }
    const now = this.now();
    const life = found.expiresAt && found.expiresAt.getTime() - found.createdAt.getTime();
    const issued = this.make(found.name, expiresAt ?? (life === null ? null : new Date(now + life)));
    const end = new Date(Math.min(now + overlap, found.expiresAt?.getTime() ?? Infinity));
    if (!(await this.keys.rotate(found, { name, expiresAt: end }, issued.key))) {
      throw new UsageError(`The key "${found.name}" was changed meanwhile; "petstore keys list" shows what it is now.`);
    }
    return { ...issued, old: { ...found, name, expiresAt: end } };
  }

  /** Issues a first key if there is none, configured ones included; undefined if there is. */
  async createFirst(): Promise<string | undefined> {
    if (this.configured.size > 0 || (await this.keys.list()).length > 0) return undefined;
    return (await this.create('first')).text;
  }

  /** All stored keys, oldest first. */
  list(): Promise<ApiKey[]> {
    return this.keys.list();
  }

  /** Revokes the one valid key that has this name or this prefix, or if none is valid the one unrevoked; resolves to it as it now is. */
  async revoke(nameOrPrefix: string): Promise<ApiKey> {
    const key = this.oneCalled(nameOrPrefix, await this.keys.list());
    const revokedAt = new Date(this.now());
    await this.keys.revoke(key.digest, revokedAt);
    return { ...key, revokedAt };
  }

  /**
   * The key whose text this is; throws or rejects with `KeyRefused` if it is none, revoked or expired. A key that was found
   * valid is answered at once for as long as the store says that nothing changed, or for a few seconds if it cannot say.
   */
  authenticate(text: string): ApiKey | Promise<ApiKey> {
    const known = this.remembered.get(text);
    if (
      known &&
      known.revision === this.keys.revision() &&
      this.elapsed() < known.trustedUntil &&
      this.isValid(known.key)
    )
      return known.key;
    return this.check(text);
  }

  /** Whether the text is that of a key that was found valid when it was last looked at. */
  hasAccepted(text: string): boolean {
    return this.remembered.has(text);
  }

  /** Notes that the key was used now. */
  noteUse(key: ApiKey): void {
    this.unrecordedUse(key).lastUsedAt = this.now();
  }

  /** Notes that the key was used for getPet now, besides `noteUse`. */
  noteGetPet(key: ApiKey): void {
    const use = this.unrecordedUse(key);
    use.getPetCalls++;
    use.lastGetPetAt = this.now();
  }

  /** Stores the uses that were noted since the last call. They are kept for the next one if the store cannot answer. */
  async recordUses(): Promise<void> {
    if (this.unrecorded.size === 0) return;
    const uses = this.unrecorded;
    this.unrecorded = new Map();
    try {
      await this.keys.recordUses([...uses].map(([digest, use]) => keyUse(digest, use)));
    } catch (error) {
      for (const [digest, use] of uses) {
        const since = this.unrecorded.get(digest);
        this.unrecorded.set(digest, since ? sum(use, since) : use);
      }
      throw error;
    }
  }

  /** What each key has been used for, as far as it was recorded, with the name that it now has. */
  async uses(): Promise<KeyUse[]> {
    const names = new Map((await this.keys.list()).map(({ digest, name }) => [digest, name]));
    return (await this.keys.uses()).map((use) => ({ ...use, name: names.get(use.digest) ?? use.name }));
  }

  /** The one valid key that has this name or this prefix, or if none is valid the one unrevoked. */
  private oneCalled(nameOrPrefix: string, all: readonly ApiKey[]): ApiKey {
    const found = all.filter((key) => key.name === nameOrPrefix || key.prefix === nameOrPrefix);
    const valid = found.filter((key) => this.isValid(key));
    const [key, ...others] = valid.length > 0 ? valid : found.filter((key) => !key.revokedAt);
    if (!key) {
      throw new UsageError(
        found.length > 0
          ? `The key "${nameOrPrefix}" is revoked already.`
          : `No key has the name or the prefix "${nameOrPrefix}"; "petstore keys list" shows them.`,
      );
    }
    if (others.length > 0) {
      const prefixes = [key, ...others].map((each) => each.prefix).join(', ');
      throw new UsageError(`More than one key is called "${nameOrPrefix}"; name one by its prefix: ${prefixes}.`);
    }
    return key;
  }

  /** A new key, which is not stored yet. */
  private make(name: string, expiresAt: Date | null): { text: string; key: ApiKey } {
    const now = this.now();
    if (expiresAt && !(expiresAt.getTime() > now && expiresAt.getTime() < END_OF_TIME))
      throw new UsageError('The expiry of a key must lie in the future, and before the year 10000.');
    const text = keyText(this.secrets.random(KEY_RANDOM_LENGTH));
    const digest = this.secrets.digest(text);
    return {
      text,
      key: { digest, name, prefix: keyPrefix(text), createdAt: new Date(now), expiresAt, revokedAt: null },
    };
  }

  private unrecordedUse(key: ApiKey): UnrecordedUse {
    let use = this.unrecorded.get(key.digest);
    if (!use) {
      use = { name: key.name, lastUsedAt: this.now(), getPetCalls: 0, lastGetPetAt: 0 };
      this.unrecorded.set(key.digest, use);
    }
    return use;
  }

  private async check(text: string): Promise<ApiKey> {
    // Read before the key is: a change in between makes the answer one too old, never one too new.
    const [revision, begun] = [this.keys.revision(), this.elapsed()];
    const digest = this.secrets.digest(text);
    const key = this.configured.get(digest) ?? (isIssuedKey(text) ? await this.keys.find(digest) : undefined);
    if (!key) throw this.refusal(text, 'invalid');
    if (key.revokedAt) throw this.refusal(text, 'revoked');
    if (!this.isValid(key)) throw this.refusal(text, 'expired');
    if (this.remembered.size >= MAX_REMEMBERED && !this.remembered.has(text)) this.remembered.clear();
    this.remembered.set(text, { key, revision, trustedUntil: revision === undefined ? begun + TRUSTED_FOR : Infinity });
    return key;
  }

  private isValid({ revokedAt, expiresAt }: ApiKey): boolean {
    return !revokedAt && (!expiresAt || expiresAt.getTime() > this.now());
  }

  private refusal(text: string, reason: KeyRefusal): KeyRefused {
    this.remembered.delete(text);
    return new KeyRefused(reason);
  }
}

function keyUse(digest: string, use: UnrecordedUse): KeyUse {
  const lastGetPetAt = use.lastGetPetAt === 0 ? null : new Date(use.lastGetPetAt);
  return { ...use, digest, lastUsedAt: new Date(use.lastUsedAt), lastGetPetAt };
}

function sum(earlier: UnrecordedUse, later: UnrecordedUse): UnrecordedUse {
  return {
    ...later,
    getPetCalls: earlier.getPetCalls + later.getPetCalls,
    lastGetPetAt: later.lastGetPetAt || earlier.lastGetPetAt,
  };
}
