import { startedServers } from './servers.js';

/** Removes the servers that the run has started. */
export default async function teardown(): Promise<void> {
  for (const server of startedServers()) await server.remove();
}
