import { mariadb, postgres } from '../support/stores.js';
import { describeSameResponses } from './operations.contract.js';

for (const kind of [postgres, mariadb]) describeSameResponses(kind);
