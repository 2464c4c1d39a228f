import { postgres } from '../support/stores.js';
import { describeFaults } from './faults.contract.js';

describeFaults(postgres);
