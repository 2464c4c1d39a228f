import { ParsedPet, walk } from '../http/requests.js';
import { Connection } from '../support/connection.js';
import { bytes, get, KEY } from '../support/raw-requests.js';
import { Conversation, Delivery } from './generated-conversation.js';
import { ALL_TWISTS, KnownPet, makeRequest, Random, Source, TwistName } from './generated-requests.js';

/** What the random numbers of a run are made from; the summary shows it, and GENERATED_SEED repeats it. */
const SEED = Number(process.env.GENERATED_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** How many connections are open at a time. */
const CONNECTIONS = 200;

/** After how many breaches a run ends. */
const ENOUGH = 20;

/** How many of the stored pets are asked for. */
const KNOWN = 1_000;

/** How many well-formed requests there are at most before and behind one that is not. */
const AROUND = 4;

const DELIVERIES: readonly Delivery[] = ['pipelined', 'in turn', 'split', 'half-closed', 'reset'];

/** What is sent, besides the defaults, and where to. */
interface Attack {
  /** The port of the service. */
  readonly port: number;
  /** How many requests are sent at least. */
  readonly requests: number;
  /** The port to which the requests are sent, if that is not the service's but a proxy's. */
  readonly proxy?: number;
  readonly twists?: readonly TwistName[];
  readonly deliveries?: readonly Delivery[];
  /** Whether each request has a connection of its own. */
  readonly isAlone?: boolean;
}

/**
 * Sends generated requests, and checks the responses and, in the end, what is stored; nothing else may write to the
 * database. Resolves to what was wrong, with the bytes that show it, and a line for people.
 */
export async function attack(target: Attack): Promise<{ breaches: string[]; summary: string }> {
  const { port, requests, proxy = port, twists = ALL_TWISTS, deliveries = DELIVERIES, isAlone = false } = target;
  const breaches: string[] = [];
  const counts: Record<number, number> = {};
  /** The ids of the pets that were acknowledged, by their names. */
  const acknowledged = new Map<string, string>();
  /** The names of the pets that may be stored, because the response was lost. */
  const possible = new Set<string>();
  const known: KnownPet[] = [];
  let [connections, sent, names] = [0, 0, 0];

  const converse = async () => {
    const number = connections++;
    const random = new Random(Math.imul(SEED + number, 0x9e3779b1));
    const source: Source = { random, key: KEY, known, uniqueName: () => `h-${names++}` };
    const make = (twist: TwistName) => makeRequest(source, twist);
    const wellFormed = () => Array.from({ length: isAlone ? 0 : random.int(AROUND + 1) }, () => make('nothing'));
    const all = [...wellFormed(), make(random.pick(twists)), ...wellFormed()];
    sent += all.length;
    const conversation = new Conversation(proxy, all, random.pick(deliveries), random);
    const breach = await conversation.hold();
    if (breach !== undefined) breaches.push(`Connection ${number}: ${breach}`);
    for (const status of conversation.statuses) counts[status] = (counts[status] ?? 0) + 1;
    for (const name of conversation.perhapsCreated()) possible.add(name);
    for (const [name, pet] of conversation.created) {
      acknowledged.set(name, pet.id);
      known[known.length < KNOWN ? known.length : Number(pet.id) % KNOWN] = pet;
    }
  };
  const client = async () => {
    while (sent < requests && breaches.length < ENOUGH) await converse();
  };

  const before = await storedPets(port);
  while (known.length === 0 && breaches.length < ENOUGH) await converse();
  await Promise.all(Array.from({ length: CONNECTIONS }, client));

  const stored = (await storedPets(port)).slice(before.length);
  for (const { id, name } of stored) {
    if (acknowledged.get(name) === String(id)) acknowledged.delete(name);
    else if (!possible.delete(name)) breaches.push(`${name} is stored as ${id}: it must not be, or a second time.`);
  }
  for (const [name, id] of acknowledged) breaches.push(`${name} was acknowledged as ${id} and is not stored.`);
  const summary =
    `seed ${SEED}: ${sent} requests on ${connections} connections, ${stored.length} pets stored, ` +
    `${breaches.length} breaches; ${JSON.stringify(counts)}\n`;
  return { breaches, summary };
}

/** All pets that are stored, oldest first. */
async function storedPets(port: number): Promise<ParsedPet[]> {
  const send = (target: string) => Connection.ask(port, bytes(get(target)));
  return (await walk({ send }, '/v1/pets?limit=100')).reverse();
}
