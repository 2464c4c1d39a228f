import { sqlite } from '../support/stores.js';
import { describeTraces } from './traces.contract.js';

describeTraces(sqlite);
