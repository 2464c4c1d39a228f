import { memory } from '../support/stores.js';
import { describeApiKeyRepository } from './api-key-repository.contract.js';
import { describePetRepository } from './pet-repository.contract.js';

describePetRepository(memory);
describeApiKeyRepository(memory);
