import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';

/**
 * Finds the address of a client: that of the connection or, if it is one of these proxies, the rightmost one in
 * `X-Forwarded-For` that is not. Left of what is no address, nothing is believed.
 */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  // The library's own walk along the header does not know the ports that some proxies add.
  return ({ socket, headers }) => {
    let address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=[\d.]+$)/i, '');
    const forwarded = String(headers['x-forwarded-for'] ?? '').match(/[^\s,]+/g) ?? [];
    while (isTrusted(address, 0)) {
      const next = (forwarded.pop() ?? '').replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}
