import { memory, sqlite } from '../support/stores.js';
import { describeOperations, describeSameResponses, describeSeveralInstances } from './operations.contract.js';

describeOperations(memory);
describeOperations(sqlite);
describeSeveralInstances(sqlite);
describeSameResponses(sqlite);
