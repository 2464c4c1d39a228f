import { mariadb, postgres } from '../support/stores.js';
import { describeOperations, describeSameResponses, describeSeveralInstances } from './operations.contract.js';

for (const kind of [postgres, mariadb]) {
  describeOperations(kind);
  describeSeveralInstances(kind);
  describeSameResponses(kind);
}
