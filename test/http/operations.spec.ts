import { sqlite } from '../support/stores.js';
import { describeSameResponses } from './operations.contract.js';

describeSameResponses(sqlite);
