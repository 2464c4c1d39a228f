import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { type Finding, ok, warn } from '../../../messages/finding.js';

const logger = new Logger('limits');

/** How long the start waits for the connection, in milliseconds: Redis may be loading its data. */
const START_TIMEOUT = 1_000;

/**
 * Connects to Redis, in which instances count together, and reconnects whenever the connection is lost. Meanwhile
 * commands fail at once. Resolves after the first attempt, at most 1 s.
 */
export async function connectRedis(url: string): Promise<Redis> {
  const client = await clientOf(url);
  let isShared = true;
  const lose = (reason: string) => {
    if (isShared) logger.warn(`${nameOf(url)} is not available (${reason}): limits are not shared.`);
    isShared = false;
  };
  // The first error of a connection has the reason, such as a wrong password.
  client.on('error', (error: Error) => lose(reasonOf(error)));
  client.on('ready', () => {
    if (!isShared) logger.warn(`${nameOf(url)} is available again: limits are shared.`);
    isShared = true;
  });
  await firstAttempt(client);
  if (client.status !== 'ready') lose('no answer');
  return client;
}

/** Asks Redis to count, as requests do, for `petstore check`. */
export async function redisFinding(url: string): Promise<Finding> {
  const client = await clientOf(url);
  let reason = 'no answer';
  client.once('error', (error: Error) => (reason = reasonOf(error)));
  client.on('error', () => undefined);
  try {
    await firstAttempt(client);
    const { RateLimiterRedis } = await import('rate-limiter-flexible');
    const limiter = new RateLimiterRedis({ keyPrefix: 'petstore:check', points: 1, duration: 1, storeClient: client });
    if (client.status === 'ready') {
      // It rejects with the count, too, if another check has just counted.
      const result: unknown = await limiter.consume('').catch((error: unknown) => error);
      if (!(result instanceof Error)) return ok('Redis', nameOf(url));
      reason = reasonOf(result);
    }
    return warn('Redis', `${nameOf(url)} is not available (${reason}).`, 'Until it is, instances do not share limits.');
  } finally {
    client.disconnect();
  }
}

async function clientOf(url: string): Promise<Redis> {
  const { Redis } = await import('ioredis');
  return new Redis(url, {
    lazyConnect: true,
    connectionName: 'petstore',
    disableClientInfo: true,
    retryStrategy: () => 500,
    connectTimeout: 1_000,
    socketTimeout: 1_000,
    // How long a request waits for Redis, in milliseconds.
    commandTimeout: 200,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  });
}

/** Without the user and the password. */
function nameOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `Redis at ${protocol}//${host}${pathname}`;
}

/** Resolves once the first attempt to connect has succeeded or failed, at most after a second. */
async function firstAttempt(client: Redis): Promise<void> {
  await Promise.race([client.connect(), delay(START_TIMEOUT, undefined, { ref: false })]).catch(() => undefined);
}

/** The reason without the command: Redis repeats its arguments, such as the password. */
function reasonOf(error: Error): string {
  if (error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
