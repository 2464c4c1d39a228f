import { describeApiKeyRepository } from '../../../contracts/api-key-repository.contract.js';
import { memory } from '../../../support/stores.js';

describeApiKeyRepository(memory);
