import { INTEGRATION, requirePrograms, SYSTEM } from './requirements.js';
import { provideServers } from './servers.js';

export default async function setup(): Promise<void> {
  requirePrograms([...INTEGRATION, ...SYSTEM]);
  await provideServers();
}
