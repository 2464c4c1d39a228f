import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';

/**
 * Finds the client of a request, as `clientOf` writes it: the peer or, if that is one of these proxies, the rightmost
 * address in `X-Forwarded-For` that is not. Left of what is no address, nothing is believed. Empty if the connection is
 * already lost.
 */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  // The library's own walk along the header does not know the ports that some proxies add.
  return ({ socket, headers }) => {
    let address = parseAddress(socket.remoteAddress ?? '');
    const forwarded = String(headers['x-forwarded-for'] ?? '').match(/[^\s,]+/g) ?? [];
    while (address !== undefined && isTrusted(address, 0)) {
      const next = parseAddress(forwarded.pop() ?? '');
      if (next === undefined) break;
      address = next;
    }
    return address === undefined ? '' : clientOf(address);
  };
}

/** 64:ff9b::/96, by which IPv6 networks reach IPv4 (RFC 6052, section 2.1). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * An address in its canonical form, without a port and a zone. One that is mapped to IPv6 (RFC 4291, section 2.5.5.2),
 * or translated by NAT64, is its IPv4 address. Undefined if the text is no address.
 */
function parseAddress(text: string): string | undefined {
  // Node accepts one spelling of an IPv4 address only.
  if (isIP(text) === 4) return text;
  const [, bracketed, plain] = /^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/.exec(text) ?? [];
  const [literal = ''] = (bracketed ?? plain ?? text).split('%', 1);
  if (isIP(literal) !== 6) return isIP(literal) === 4 ? literal : undefined;
  // In the one spelling of URLs: the library takes `::192.0.2.1` for IPv4, but not the same address in hexadecimal.
  const address = ipaddr.process(new URL(`http://[${literal}]`).hostname.slice(1, -1));
  const isTranslated = address instanceof ipaddr.IPv6 && address.match(NAT64);
  return (isTranslated ? ipaddr.fromByteArray(address.toByteArray().slice(12)) : address).toString();
}

/** The client with a canonical address: of IPv6 the first 64 bits, because it has all addresses with the same ones. */
function clientOf(address: string): string {
  return isIP(address) === 4 ? address : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`;
}
