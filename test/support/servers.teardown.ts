import type { TestServer } from './servers.js';

/** Removes the servers that the run has started. */
export default async function teardown(): Promise<void> {
  const { petstoreServers = [] } = globalThis as { petstoreServers?: TestServer[] };
  for (const server of petstoreServers) await server.remove();
}
