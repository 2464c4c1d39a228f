import pg from 'pg';
import type { TestServer } from '../support/servers.js';

/** The rows that a PostgreSQL answers a statement with; the user `postgres` asks in its own database unless another one is named. */
export async function say(
  { port }: Pick<TestServer, 'port'>,
  sql: string,
  as: Pick<pg.ClientConfig, 'user' | 'password' | 'database'> = {},
): Promise<Record<string, unknown>[]> {
  const whom = { user: 'postgres', database: 'postgres', ...as };
  const client = new pg.Client({ host: '127.0.0.1', port, ...whom, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    void client.end().catch(() => undefined);
  }
}
