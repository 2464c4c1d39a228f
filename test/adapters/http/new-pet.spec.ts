import { describe, expect, it } from '@jest/globals';
import { jsonMembers } from '../../../src/adapters/http/body/json-object.js';
import { ApiError } from '../../../src/adapters/http/errors/api-error.js';
import { checkedPet } from '../../../src/adapters/http/pets/checked-pet.js';
import { NewPetBody, soundPet } from '../../../src/adapters/http/pets/new-pet.js';

const MEMBERS = [
  ...['"Bella"', '"sold"', '""', '"\\u0000"', '1', 'null'].map((value) => `"name":${value}`),
  ...['42', '-0', '9223372036854775807', '9223372036854775808', '1.5', '"42"'].map((value) => `"categoryId":${value}`),
  ...['"sold"', '"Sold"', 'null', '["sold"]'].map((value) => `"status":${value}`),
  ...['"statuses":"sold"', '"__proto__":{}', '"constructor":true'],
];

/** Every body of at most so many members, in each order, with those that come twice. */
function* bodies(most: number, before: readonly string[] = []): Generator<string> {
  yield `{${before.join()}}`;
  if (most > 0) for (const member of MEMBERS) yield* bodies(most - 1, [...before, member]);
}

function checked(text: string): NewPetBody | undefined {
  try {
    return checkedPet(jsonMembers(text));
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

describe('a new pet', () => {
  it('is sound where class-validator finds no fault with it, and nowhere else', () => {
    const outcomes = Array.from(bodies(3), (text) => ({
      text,
      pet: soundPet(jsonMembers(text)),
      other: checked(text),
    }));
    const differing = outcomes.filter(
      ({ pet, other }) =>
        pet?.name !== other?.name || pet?.categoryId !== other?.categoryId || pet?.status !== other?.status,
    );
    expect(differing).toEqual([]);
    // Two names with three integers, in both orders; and with one status, in all orders.
    expect(outcomes.filter(({ pet }) => pet)).toHaveLength(2 * 3 * 2 + 2 * 3 * 6);
  });
});
