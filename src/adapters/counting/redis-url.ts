import { UsageError } from '../../application/errors.js';
import { urlPart } from '../net/url-part.js';

/** A database of a Redis server. */
export interface RedisUrl {
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  /** The number of the database. */
  readonly database: number;
  /** Whether the connection is secured, and the server's certificate checked. */
  readonly tls: boolean;
}

const SCHEMES: Readonly<Record<string, { tls: boolean }>> = { 'redis:': { tls: false }, 'rediss:': { tls: true } };

const DEFAULT_PORT = 6379;

/**
 * Reads the URL of a Redis; throws `UsageError`, one line that begins with the setting's `name`, if it is none. The message never
 * repeats the URL, which may have a password in it.
 */
export function redisUrl(name: string, text: string): RedisUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url && SCHEMES[url.protocol];
  if (!url || !scheme || !url.hostname || !/^\/?$|^\/[0-9]{1,5}$/.test(url.pathname) || url.search || url.hash) {
    throw new UsageError(
      `${name} must be redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://… for TLS; user, password, port (${DEFAULT_PORT}) and the number of the database (0) may be left out.`,
    );
  }
  return {
    host: urlPart(name, url.hostname.replace(/^\[(.*)\]$/, '$1')),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    ...(url.username !== '' && { user: urlPart(name, url.username) }),
    ...(url.password !== '' && { password: urlPart(name, url.password) }),
    database: Number(url.pathname.slice(1)),
    ...scheme,
  };
}

/** The URL without its user and password. */
export function shownRedisUrl({ tls, host, port, database }: RedisUrl): string {
  return `redis${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
