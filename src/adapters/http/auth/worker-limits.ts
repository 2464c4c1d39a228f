import { RateLimiterClusterMaster } from 'rate-limiter-flexible';

/** Makes the primary count for all workers, whose `RateLimits` ask it. Apart from those, to load no more than this. */
export function countForWorkers(): void {
  new RateLimiterClusterMaster();
}
