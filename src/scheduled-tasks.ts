import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DatabaseUnavailable } from './application/errors.js';
import { Authenticator } from './application/keys/authenticator.js';
import { remindOfSunset } from './adapters/http/pets/deprecation.js';

const logger = new Logger('petstore');

/** What the service does periodically. A task that fails is logged. */
@Injectable()
export class ScheduledTasks implements OnModuleInit, OnApplicationShutdown {
  private readonly timers: NodeJS.Timeout[] = [];
  /** Why the configured keys could not be read last time. */
  private keysProblem: string | undefined;

  constructor(private readonly authenticator: Authenticator) {}

  onModuleInit(): void {
    remindOfSunset();
    this.timers.push(
      setInterval(() => void this.recordUses(), 5_000).unref(),
      setInterval(() => this.reloadKeys(), 5_000).unref(),
      // Daily.
      setInterval(remindOfSunset, 86_400_000).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.recordUses();
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

  private async recordUses(): Promise<void> {
    try {
      await this.authenticator.recordUses();
    } catch (error) {
      // The database says why itself, once for all requests and tasks.
      if (error instanceof DatabaseUnavailable) return;
      logger.warn(`Storing the uses of API keys failed: ${(error as Error).message}`);
    }
  }
}
