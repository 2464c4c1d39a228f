import { describePetRepository } from '../../../contracts/pet-repository.contract.js';
import { memory } from '../../../support/stores.js';

describePetRepository(memory);
