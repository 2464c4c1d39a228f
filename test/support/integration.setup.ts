import { INTEGRATION, requirePrograms } from './requirements.js';
import { provideServers } from './servers.js';

export default async function setup(): Promise<void> {
  requirePrograms(INTEGRATION);
  await provideServers();
}
