import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { ApiKeyService } from '../../application/keys/api-key.service.js';
import { PetService } from '../../application/pets/pet.service.js';

/** How often the use of the API keys is written down, in milliseconds. */
const RECORD_INTERVAL = 5_000;

/** How often idempotency keys that have had their time are forgotten, in milliseconds. */
const FORGET_INTERVAL = 600_000;

const logger = new Logger('petstore');

/** What the service does by the clock, beside the requests. */
@Injectable()
export class Chores implements OnModuleInit, OnApplicationShutdown {
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly stop = new AbortController();
  private forgetting: Promise<void> | undefined;

  constructor(
    private readonly keys: ApiKeyService,
    private readonly pets: PetService,
  ) {}

  onModuleInit(): void {
    this.timers.push(setInterval(() => void this.recordUses(), RECORD_INTERVAL).unref());
    this.timers.push(setInterval(() => this.forget(), FORGET_INTERVAL).unref());
  }

  async onApplicationShutdown(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.stop.abort();
    await this.recordUses();
  }

  /** Begins to forget, unless it is still at it. */
  private forget(): void {
    const { signal } = this.stop;
    this.forgetting ??= attempt('Forgetting old idempotency keys', () =>
      this.pets.forgetIdempotencyKeys(signal),
    ).finally(() => (this.forgetting = undefined));
  }

  private recordUses(): Promise<void> {
    return attempt('Writing down the use of the API keys', () => this.keys.recordUses());
  }
}

/** Does what can wait for another time if it must. */
async function attempt(what: string, chore: () => Promise<void>): Promise<void> {
  try {
    await chore();
  } catch (error) {
    logger.warn(`${what} did not work out and is tried again later: ${(error as Error).message}`);
  }
}
