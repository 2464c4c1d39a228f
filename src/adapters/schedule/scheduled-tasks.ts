import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { ApiKeyService } from '../../application/keys/api-key.service.js';
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
  private deleting: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly keys: ApiKeyService,
    private readonly pets: PetService,
  ) {}

  onModuleInit(): void {
    remindOfSunset();
    const deleteKeys = () =>
      (this.deleting ??= this.deleteIdempotencyKeys().finally(() => (this.deleting = undefined)));
    this.timers.push(
      setInterval(() => void this.recordUses(), RECORD_INTERVAL).unref(),
      setInterval(() => void deleteKeys(), DELETE_INTERVAL).unref(),
      setInterval(remindOfSunset, REMIND_INTERVAL).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers) clearInterval(timer);
    await this.deleting;
    await this.recordUses();
  }

  private async deleteIdempotencyKeys(): Promise<void> {
    try {
      while (!this.isStopping && (await this.pets.deleteExpiredIdempotencyKeys()));
    } catch (error) {
      logger.warn(`Deleting expired idempotency keys failed; will retry: ${(error as Error).message}`);
    }
  }

  private async recordUses(): Promise<void> {
    try {
      await this.keys.recordUses();
    } catch (error) {
      logger.warn(`Storing the uses of API keys failed; will retry: ${(error as Error).message}`);
    }
  }
}
