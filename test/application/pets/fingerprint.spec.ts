import { describe, expect, it } from '@jest/globals';
import { fingerprint } from '../../../src/application/pets/fingerprint.js';
import { NewPet } from '../../../src/domain/pets/pet.js';

const BELLA: NewPet = { name: 'Bella "B" 🐶', categoryId: 2n ** 63n - 1n, status: 'sold' };

/** A pet with fields that a later release may add. */
function later(fields: object): NewPet {
  return { ...BELLA, ...fields };
}

describe('the fingerprint of a payload', () => {
  it('is what the first release has stored, in whatever order the fields come', () => {
    const stored = '["Bella \\"B\\" 🐶","9223372036854775807","sold"]';
    expect(fingerprint(BELLA)).toBe(stored);
    expect(fingerprint({ status: 'sold', categoryId: BELLA.categoryId, name: BELLA.name })).toBe(stored);
  });

  it('is the same without a field of a later release, and if that is undefined', () => {
    expect(fingerprint(later({ breed: undefined }))).toBe(fingerprint(BELLA));
  });

  it('is another one for each value of a later field, and for the same value of another', () => {
    const payloads = [
      {},
      { breed: 'x' },
      { breed: 'y' },
      { owner: 'x' },
      { breed: null },
      { age: 1 },
      { age: 2n ** 53n },
    ];
    expect(new Set(payloads.map((fields) => fingerprint(later(fields)))).size).toBe(payloads.length);
  });

  it('does not depend on the order of later fields', () => {
    expect(fingerprint(later({ owner: 'x', breed: 'y' }))).toBe(fingerprint(later({ breed: 'y', owner: 'x' })));
  });
});
