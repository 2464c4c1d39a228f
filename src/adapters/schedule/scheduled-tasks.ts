import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { Authenticator } from '../../application/keys/authenticator.js';
import { PetService } from '../../application/pets/pet.service.js';
import { remindOfSunset } from '../http/pets/deprecation.js';

/** How often the uses of API keys are stored, in milliseconds. */
const RECORD_INTERVAL = 5_000;

/** How often expired idempotency keys are deleted, in milliseconds. */
const DELETE_INTERVAL = 60_000;

/** How often the log warns of an operation that was to be removed, in milliseconds. */
const REMIND_INTERVAL = 86_400_000;

const logger = new Logger('petstore');

/** What the service does periodically. A task that fails is logged, and runs again at its next interval. */
@Injectable()
export class ScheduledTasks implements OnModuleInit, OnApplicationShutdown {
  private readonly timers: NodeJS.Timeout[] = [];
  private isStopping = false;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly pets: PetService,
  ) {}

  onModuleInit(): void {
    remindOfSunset();
    this.timers.push(
      setInterval(() => void this.recordUses(), RECORD_INTERVAL).unref(),
      setInterval(() => void this.deleteIdempotencyKeys(), DELETE_INTERVAL).unref(),
      setInterval(remindOfSunset, REMIND_INTERVAL).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers) clearInterval(timer);
    await this.recordUses();
  }

  private deleteIdempotencyKeys(): Promise<void> {
    return attempt('Deleting expired idempotency keys', async () => {
      while (!this.isStopping && (await this.pets.deleteExpiredIdempotencyKeys()));
    });
  }

  private recordUses(): Promise<void> {
    return attempt('Storing the uses of API keys', () => this.authenticator.recordUses());
  }
}

async function attempt(what: string, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    logger.warn(`${what} failed; will retry: ${(error as Error).message}`);
  }
}
