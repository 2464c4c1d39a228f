import { describe, expect, it } from '@jest/globals';
import { MemoryPetRepository } from '../../../../src/adapters/persistence/memory/memory-pet.repository.js';
import { describePetRepository } from '../../../contracts/pet-repository.contract.js';
import { heapUsed } from '../../../support/heap-used.js';
import { memory } from '../../../support/stores.js';

describePetRepository(memory);

describe('pets in memory', () => {
  it('hold nothing of the body that their name was cut out of', async () => {
    const pets = new MemoryPetRepository();
    const before = heapUsed();
    for (let i = 0; i < 300; i++) {
      const body = `{"name":"a name of some length ${i}"${' '.repeat(60_000)}}`;
      await pets.add({ name: body.slice(9, body.indexOf('"', 9)), categoryId: 1n, status: 'available' });
    }
    expect(heapUsed() - before).toBeLessThan(5_000_000);
    expect((await pets.find(300n))?.name).toBe('a name of some length 299');
  });
});
