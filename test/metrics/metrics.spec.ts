import { sqlite } from '../support/stores.js';
import { describeMetrics } from './metrics.contract.js';

describeMetrics(sqlite);
