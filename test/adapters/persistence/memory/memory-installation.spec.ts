import { describeInstallation } from '../../../contracts/installation.contract.js';
import { memory } from '../../../support/stores.js';

describeInstallation(memory);
