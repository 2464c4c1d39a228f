import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { UsageError } from '../../../application/errors.js';
import { urlPart } from '../../net/url-part.js';

/** How long a request waits for Redis, in milliseconds. */
const COMMAND_TIMEOUT = 200;

/** Both in milliseconds. */
const CONNECT_TIMEOUT = 1_000;
const RECONNECT_INTERVAL = 500;

const logger = new Logger('limits');

/** Validates the URL of a Redis database; throws `UsageError`, whose message does not repeat the password. */
export function redisUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isValid = url?.hostname && /^rediss?:$/.test(url.protocol) && /^\/?$|^\/[0-9]{1,5}$/.test(url.pathname);
  if (!isValid || url.search || url.hash) {
    const form = 'redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://… for TLS';
    throw new UsageError(`${name} must be ${form}; user, password, port (6379) and database (0) may be left out.`);
  }
  for (const part of [url.username, url.password]) urlPart(name, part);
  return text;
}

/**
 * A client that reconnects whenever the connection is lost, and logs it; resolves after the first attempt. Its commands
 * fail at once while it is not connected. It calls `observe` with true when it has connected, and with false when not.
 */
export async function connectRedis(url: string, observe: (isConnected: boolean) => void): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    connectionName: 'petstore',
    disableClientInfo: true,
    retryStrategy: () => RECONNECT_INTERVAL,
    connectTimeout: CONNECT_TIMEOUT,
    socketTimeout: CONNECT_TIMEOUT,
    commandTimeout: COMMAND_TIMEOUT,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  const { protocol, host, pathname } = new URL(url);
  const name = `Redis at ${protocol}//${host}${pathname}`;
  let isLost = false;
  redis.on('error', (error: Error) => {
    // The first error has the reason, such as a wrong password.
    if (!isLost) logger.warn(`${name} is not available (${redisError(error)}): limits are not shared.`);
    isLost = true;
    observe(false);
  });
  redis.on('ready', () => {
    if (isLost) logger.warn(`${name} is available again: limits are shared.`);
    isLost = false;
    observe(true);
  });
  await redis.connect().catch(() => undefined);
  return redis;
}

/** The error without the command: Redis repeats its arguments, such as the password. */
function redisError(error: Error): string {
  if (error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
