import type { Servers } from './servers.js';

/** Removes the servers that the run has started, and says at its end what it went without. */
export default async function teardown(): Promise<void> {
  const { petstoreServers } = globalThis as { petstoreServers?: Servers };
  for (const server of petstoreServers?.started ?? []) await server.remove();
  for (const missing of petstoreServers?.missing ?? []) process.stderr.write(`\n${missing}\n`);
}
