import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { UsageError } from '../../application/errors.js';

/** Where to listen: a TCP port, 0 for any free one, and an address or a name of this machine. */
export interface Place {
  readonly port: number;
  readonly host: string;
}

/**
 * Has a server listen, and resolves to where it does, as `http://host:port`. Rejects with `UsageError` if it cannot; `names` are the
 * settings that say where.
 */
export async function listen(
  server: Server,
  { port, host }: Place,
  names: Record<keyof Place, string>,
): Promise<string> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new UsageError(whatWouldBeRight(error as NodeJS.ErrnoException, { port, host }, names), { cause: error });
  }
  const { address, family, port: given } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${given}`;
}

function whatWouldBeRight({ code }: NodeJS.ErrnoException, { port, host }: Place, names: Record<keyof Place, string>) {
  const place = `port ${port} of ${JSON.stringify(host)}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${names.port} must be a free port; another program listens on ${place}. Stop it, or set ${names.port} to another one.`;
    case 'EACCES':
      return `${names.port} must be a port that this user may listen on, as those from 1024 on; not ${place}.`;
    default:
      return `${names.host} must be an address of this machine; nothing can listen on ${place} (${code}).`;
  }
}
