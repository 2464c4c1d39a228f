import { sqlite } from '../support/stores.js';
import { describeFaults } from './faults.contract.js';

describeFaults(sqlite);
