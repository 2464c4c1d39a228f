import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { fingerprint } from '../../../src/application/pets/fingerprint.js';
import { NewPet } from '../../../src/domain/pets/pet.js';

const BELLA: NewPet = { name: 'Bella "B" 🐶', categoryId: 2n ** 63n - 1n, status: 'sold' };

/** A pet with fields that a later release may add. */
const later = (fields: object): NewPet => ({ ...BELLA, ...fields });

describe('the fingerprint of a payload', () => {
  it('is what the first release has stored, in whatever order the fields come', () => {
    const json = '["Bella \\"B\\" 🐶","9223372036854775807","sold"]';
    const stored = createHash('sha256').update(json).digest('hex');
    expect(fingerprint(BELLA)).toBe(stored);
    expect(fingerprint({ status: 'sold', categoryId: BELLA.categoryId, name: BELLA.name })).toBe(stored);
    expect(fingerprint(later({ breed: undefined }))).toBe(stored);
  });

  it('differs with the name and the value of each later field, and not with their order', () => {
    const payloads = [{}, { breed: 'x' }, { breed: 'y' }, { owner: 'x' }, { breed: null }, { age: 1 }];
    expect(new Set(payloads.map((fields) => fingerprint(later(fields)))).size).toBe(payloads.length);
    expect(fingerprint(later({ owner: 'x', breed: 'y' }))).toBe(fingerprint(later({ breed: 'y', owner: 'x' })));
  });
});
