import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { UsageError } from '../../messages/usage-error.js';

/**
 * Makes a server listen, and resolves to its address, as `http://host:port`. Rejects with `UsageError` if it cannot;
 * `settings` names the settings of port and host in the message.
 */
export async function listen(server: Server, port: number, host: string, settings: string): Promise<string> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    throw new UsageError(`${settings} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
  const { address, family, port: actual } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${actual}`;
}
