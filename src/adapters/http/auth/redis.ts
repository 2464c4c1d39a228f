import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';

const logger = new Logger('limits');

/**
 * A client that reconnects whenever the connection is lost, and logs it; resolves after the first attempt. Its commands
 * fail at once while it is not connected.
 */
export async function connectRedis(url: string): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
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
  const { protocol, host, pathname } = new URL(url);
  const name = `Redis at ${protocol}//${host}${pathname}`;
  let isLost = false;
  redis.on('error', (error: Error) => {
    // The first error has the reason, such as a wrong password.
    if (!isLost) logger.warn(`${name} is not available (${redisError(error)}): limits are not shared.`);
    isLost = true;
  });
  redis.on('ready', () => {
    if (isLost) logger.warn(`${name} is available again: limits are shared.`);
    isLost = false;
  });
  await redis.connect().catch(() => undefined);
  return redis;
}

/** The error without the command: Redis repeats its arguments, such as the password. */
function redisError(error: Error): string {
  if (error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
