import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientAddress } from '../../src/adapters/http/server/client-address.js';

const PROXY = '10.0.0.1';

/** The client of a request from this peer, or from the proxy with this header. */
const ofPeer = (peer: string) =>
  clientAddress([PROXY])({ socket: { remoteAddress: peer }, headers: {} } as IncomingMessage);
const ofHeader = (forwarded: string) =>
  clientAddress([PROXY])({
    socket: { remoteAddress: PROXY },
    headers: { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage);

const hex = (byte: number) => byte.toString(16).padStart(2, '0');
const groupsOf = (bytes: readonly number[]) =>
  Array.from({ length: bytes.length / 2 }, (_, i) => hex(bytes[2 * i]!) + hex(bytes[2 * i + 1]!));

/** Every way to write the 16 bytes of an IPv6 address that Node accepts. */
function spellings(bytes: readonly number[]): string[] {
  const groups = groupsOf(bytes);
  const short = groups.map((group) => group.replace(/^0{1,3}/, ''));
  const dotted = [...short.slice(0, 6), bytes.slice(12).join('.')];
  // `::` for each run of zeros.
  const compressed = [short, dotted].flatMap((parts) =>
    parts.flatMap((_part, from) =>
      parts.flatMap((_other, i) => {
        const to = from + i + 1;
        const isRun = to <= parts.length && parts.slice(from, to).every((part) => part === '0');
        return isRun ? [`${parts.slice(0, from).join(':')}::${parts.slice(to).join(':')}`] : [];
      }),
    ),
  );
  return [groups, short, dotted].map((parts) => parts.join(':')).concat(compressed);
}

/** What servers and proxies put around an address. */
const around = (address: string) =>
  address.includes(':')
    ? [address, address.toUpperCase(), `${address}%eth0`, `[${address}]`, `[${address}]:443`, `[${address}%25eth0]:80`]
    : [address, `${address}:4711`];

const byte = fc.nat(255);
const zeroOften = fc.oneof(fc.constant(0), byte);
const ipv4 = fc.tuple(byte, byte, byte, byte).filter((bytes) => bytes.join('.') !== PROXY);
const ipv6 = fc.array(zeroOften, { minLength: 16, maxLength: 16 });
const MAPPED = [...Array<number>(10).fill(0), 255, 255];
const NAT64 = [0, 0x64, 0xff, 0x9b, ...Array<number>(8).fill(0)];

/** The IPv4 address that the bytes of an IPv6 address stand for. */
const embedded = (bytes: readonly number[]) =>
  [MAPPED, NAT64].some((prefix) => prefix.every((each, i) => bytes[i] === each)) && bytes.slice(12).join('.');

describe('the client', () => {
  it('of an IPv4 address is that address, in every spelling', () => {
    fc.assert(
      fc.property(ipv4, (bytes) => {
        const address = bytes.join('.');
        const inIpv6 = [MAPPED, NAT64].flatMap((prefix) => spellings([...prefix, ...bytes]));
        const texts = [address, ...inIpv6];
        // One comparison: an expectation for each text takes seconds.
        expect(texts.flatMap(around).filter((text) => ofHeader(text) !== address)).toEqual([]);
        expect(texts.filter((text) => ofPeer(text) !== address)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('of an IPv6 address is its first 64 bits, in every spelling', () => {
    fc.assert(
      fc.property(ipv6, (bytes) => {
        fc.pre(!embedded(bytes));
        const client = ofPeer(groupsOf(bytes).join(':'));
        expect(client).toMatch(/^[0-9a-f:]+\/64$/);
        const texts = spellings(bytes);
        expect(texts.filter((text) => ofPeer(text) !== client)).toEqual([]);
        expect(texts.flatMap(around).filter((text) => ofHeader(text) !== client)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('of two addresses is one only if they have the first 64 bits of IPv6 in common', () => {
    const few = fc.tuple(fc.constantFrom(MAPPED, NAT64, Array<number>(12).fill(0)), ipv4).map((parts) => parts.flat());
    const clientId = (bytes: readonly number[]) => embedded(bytes) || groupsOf(bytes.slice(0, 8)).join(':');
    fc.assert(
      fc.property(fc.oneof(ipv6, few), fc.oneof(ipv6, few), fc.nat(15), (one, other, same) => {
        // Many pairs share a prefix.
        const near = [...one.slice(0, same), ...other.slice(same)];
        const isOne = clientId(one) === clientId(near);
        const [a, b] = [one, near].map((bytes) => ofPeer(groupsOf(bytes).join(':')));
        expect(a === b).toBe(isOne);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['unknown', '_hidden', '1', '0x7f.1', '127.1', '01.2.3.4', '1.2.3.4.5', '::g', '[::1', '1.2.3.4:port', ''])(
    'is the proxy if the header has %j, which is no address',
    (text) => expect(ofHeader(text)).toBe(PROXY),
  );

  it.each([`::ffff:${PROXY}`, '::ffff:a00:1', '64:ff9b::a00:1'])(
    'is found behind a proxy that connects as %s',
    (peer) => {
      const request = { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': '::ffff:203.0.113.9' } };
      expect(clientAddress([PROXY])(request as unknown as IncomingMessage)).toBe('203.0.113.9');
    },
  );
});
