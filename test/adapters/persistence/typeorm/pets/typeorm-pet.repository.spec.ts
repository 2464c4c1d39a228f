import { describeLastingPetRepository, describePetRepository } from '../../../../contracts/pet-repository.contract.js';
import { lastingKinds } from '../../../../support/stores.js';

for (const kind of lastingKinds) {
  describePetRepository(kind);
  describeLastingPetRepository(kind);
}
