import { StoreUnavailable } from './errors.js';
import { Readiness } from './readiness.port.js';

/** Tells whether requests should be sent to this process. */
export class HealthService {
  private stopping = false;

  constructor(private readonly store: Readiness) {}

  /** Resolves if the store can be worked with; rejects with `StoreUnavailable` if it cannot, or once a stop has begun. */
  async checkReady(): Promise<void> {
    if (this.stopping) throw new StoreUnavailable('The service is being stopped.');
    await this.store.check();
  }

  /** Notes that a stop has begun: no new requests should come, and those that are here are still answered. */
  beginStop(): void {
    this.stopping = true;
  }
}
