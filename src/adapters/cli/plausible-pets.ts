import { NewPet, PetStatus } from '../../domain/pets/pet.js';

/** Names by category: what the identifiers of the categories stand for is this catalogue's own. */
const NAMES: readonly (readonly [categoryId: bigint, names: string])[] = [
  [1n, 'Bella Max Luna Rocky Daisy Bruno Lola Sam Nala Buddy Ruby Oskar Frida Balu Emma Toby Coco Rex'],
  [2n, 'Minka Felix Mia Simba Lilly Tiger Cleo Oliver Zoë Garfield Misty Moritz Nina Salem Smilla Whiskers'],
  [3n, 'Hoppel Klopfer Flöckchen Snowball Bunny Stups Karamell Pepper Löffel Thumper Mümmel'],
  [4n, 'Kiwi Polly Rio Hansi Sky Charlie Pip Jacko Mango Piepsi Coco Iago'],
  [5n, 'Nemo Dory Bubbles Goldie Splash Finn Marlin Perle Ariel'],
  [6n, 'Spike Rango Kaa Franklin Leo Smaug Shelly Gecko Morla'],
];

const CATEGORIES = NAMES.map(([categoryId, names]) => ({ categoryId, names: names.split(' ') }));

/** Of ten pets seven are available. */
const STATUSES: readonly PetStatus[] = [...Array<PetStatus>(7).fill('available'), 'pending', 'sold', 'sold'];

/** Plausible pets without end: the same for the same seed. */
export function* plausiblePets(seed: number): Generator<NewPet, never> {
  const random = numbers(seed);
  const oneOf = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T;
  for (;;) {
    const { categoryId, names } = oneOf(CATEGORIES);
    yield { name: oneOf(names), categoryId, status: oneOf(STATUSES) };
  }
}

/** Numbers from 0 to below 1 that look random: mulberry32, which is enough for names. */
function numbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
