import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DatabaseUnavailable } from '../application/errors.js';
import { Authenticator } from '../application/keys/authenticator.js';
import { GET_PET_SUNSET, PetService } from '../application/pets/pet.service.js';

const logger = new Logger('petstore');

/** What the service does periodically. A task that fails is logged. */
@Injectable()
export class ScheduledTasks implements OnModuleInit, OnApplicationShutdown {
  private readonly timers: NodeJS.Timeout[] = [];
  private isStopping = false;
  /** The deletion that runs. */
  private deletion: Promise<void> | undefined;
  /** Why the configured keys could not be read last time. */
  private keysProblem: string | undefined;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly pets: PetService,
  ) {}

  onModuleInit(): void {
    remindOfSunset();
    this.timers.push(
      setInterval(() => void this.recordUses(), 5_000).unref(),
      // A database that is stopped while it is idle, as some providers do, is not woken up each minute.
      setInterval(() => void (this.pets.hasNewIdempotencyKeys && this.deleteIdempotencyKeys()), 60_000).unref(),
      setInterval(() => void this.deleteIdempotencyKeys(), 3_600_000).unref(),
      setInterval(() => this.reloadKeys(), 5_000).unref(),
      // Daily.
      setInterval(remindOfSunset, 86_400_000).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers) clearInterval(timer);
    await this.recordUses();
  }

  private deleteIdempotencyKeys(): Promise<void> {
    const deleteAll = async () => {
      while (!this.isStopping && (await this.pets.deleteExpiredIdempotencyKeys()));
    };
    return (this.deletion ??= logFailure('Deleting expired idempotency keys', deleteAll).finally(
      () => (this.deletion = undefined),
    ));
  }

  private reloadKeys(): void {
    try {
      this.authenticator.reloadConfigured();
      this.keysProblem = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.keysProblem) logger.warn(`${message} The keys that were read before remain valid.`);
      this.keysProblem = message;
    }
  }

  private recordUses(): Promise<void> {
    return logFailure('Storing the uses of API keys', () => this.authenticator.recordUses());
  }
}

async function logFailure(what: string, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    // The database says why itself, once for all requests and tasks.
    if (error instanceof DatabaseUnavailable) return;
    logger.warn(`${what} failed: ${(error as Error).message}`);
  }
}

/** Warns, once the date has passed, that the operation still exists: a release removes it, not the clock. */
function remindOfSunset(): void {
  if (Date.now() < GET_PET_SUNSET.getTime()) return;
  logger.warn(
    'getPet was to be removed on 5 December 2030; "petstore keys callers" lists who has called it, and when.',
    'getPet',
  );
}
