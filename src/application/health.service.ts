import { DatabaseUnavailable } from './errors.js';
import { Readiness } from './readiness.port.js';

/** Whether this process should receive requests. */
export class HealthService {
  private isStopping = false;

  constructor(private readonly database: Readiness) {}

  /** Rejects with `DatabaseUnavailable` if the database does not answer, or a shutdown has begun. */
  async checkReady(): Promise<void> {
    if (this.isStopping) throw new DatabaseUnavailable('The service is shutting down.');
    await this.database.check();
  }

  /** Called when a graceful shutdown begins: load balancers must stop sending requests. */
  beginStop(): void {
    this.isStopping = true;
  }
}
