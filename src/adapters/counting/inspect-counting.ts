import type { Redis } from 'ioredis';
import { within } from '../../application/within.js';
import { fail, Finding, ok, warn } from '../../application/finding.js';
import type { CountSettings } from './count-settings.js';
import { connection, redisTrouble } from './redis-counts.js';
import type { RedisUrl } from './redis-url.js';

/** How long Redis may take to answer, in milliseconds. */
const PATIENCE = 3_000;

/** Looks at the Redis, if any, through which the counts of what is limited are shared, and writes nothing. */
export async function inspectCounting({ redis: url, isUsed }: CountSettings): Promise<Finding[]> {
  if (!url) return [];
  const advice = 'RATE_LIMIT or AUTH_FAILURE_LIMIT sets one.';
  const unused = isUsed ? [] : [warn('limits', 'RATE_LIMIT_URL is set, and no limit is.', advice)];
  const redis = await connection(url, () => null);
  try {
    const late = () => new Error(`no answer within ${PATIENCE / 1000} s`);
    const info = await within(PATIENCE, informationOf(redis, url), late);
    return [...findingsOf(info), ...unused];
  } catch (error) {
    const found = `Redis cannot be used (${redisTrouble(error as Error)}): each instance would count for itself.`;
    return [fail('limits', found, 'RATE_LIMIT_URL must name one that answers.'), ...unused];
  } finally {
    redis.disconnect();
  }
}

/** What Redis says of itself: fields by name. */
async function informationOf(redis: Redis, { database }: RedisUrl): Promise<Map<string, string>> {
  await new Promise((resolve, reject) => redis.once('ready', resolve).on('error', reject));
  await redis.select(database);
  const lines = (await redis.info()).split('\r\n').map((line) => line.split(':', 2));
  return new Map(lines.map(([name = '', value = '']) => [name, value]));
}

function findingsOf(info: ReadonlyMap<string, string>): Finding[] {
  const number = (name: string) => Number(info.get(name) ?? 0);
  const findings = [ok('limits', `Redis ${info.get('redis_version') ?? 'of unknown version'} is reached`)];
  if (info.get('role') === 'slave' || info.get('role') === 'replica') {
    const found = 'This Redis is a replica, and takes no counts.';
    findings.push(fail('limits', found, 'RATE_LIMIT_URL must name the primary.'));
  }
  if (number('maxmemory') > 0 && number('used_memory') >= number('maxmemory')) {
    const found = `This Redis has used its maxmemory (${info.get('maxmemory_policy')}), and refuses or forgets counts.`;
    findings.push(fail('limits', found, 'It must have some memory left.'));
  }
  return findings;
}
