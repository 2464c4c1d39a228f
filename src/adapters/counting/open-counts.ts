import cluster from 'node:cluster';
import type { CountSettings } from './count-settings.js';
import { Counts } from './counts.js';
import type { TellShared } from './insured-counts.js';
import { MemoryCounts } from './memory-counts.js';
import { shownRedisUrl } from './redis-url.js';

/**
 * Opens the counts that the limits are held against: those of all that share a Redis, if one is named; else, or if it is out of reach,
 * those of the workers of this instance. What is not used is not even loaded. `report` is told in a sentence when the count is not shared
 * any more, and when it is again; `observe` whether it is shared through Redis.
 */
export async function openCounts(
  { redis, isUsed }: CountSettings,
  report: (message: string) => void,
  observe: (isShared: boolean) => void = () => undefined,
): Promise<Counts> {
  if (!isUsed) return new MemoryCounts();
  const own = cluster.isWorker ? await ofWorkers(report) : new MemoryCounts();
  if (!redis) return own;
  const { InsuredCounts } = await import('./insured-counts.js');
  const { RedisCounts } = await import('./redis-counts.js');
  const name = `Redis at ${shownRedisUrl(redis)}`;
  const tell = reporter(name, 'this instance counts for itself', report);
  return new InsuredCounts(await RedisCounts.connect(redis), own, (isShared, reason) => {
    observe(isShared);
    tell(isShared, reason);
  }).open();
}

async function ofWorkers(report: (message: string) => void): Promise<Counts> {
  const { InsuredCounts } = await import('./insured-counts.js');
  const { PrimaryCounts } = await import('./primary-counts.js');
  const tell = reporter('The primary process', 'this worker counts for itself', report);
  return new InsuredCounts(new PrimaryCounts(), new MemoryCounts(), tell).open();
}

/** Says when the count is not shared any more, and when it is again. */
function reporter(name: string, meanwhile: string, report: (message: string) => void): TellShared {
  let wasShared = true;
  return (isShared, reason) => {
    if (isShared && !wasShared) report(`${name} counts again what is limited: limits are shared.`);
    if (!isShared) report(`${name} does not count what is limited (${reason}): ${meanwhile} until it does.`);
    wasShared = isShared;
  };
}
