import { describeLastingInstallation, describeInstallation } from '../../../../contracts/installation.contract.js';
import { lastingKinds } from '../../../../support/stores.js';

for (const kind of lastingKinds) {
  describeInstallation(kind);
  describeLastingInstallation(kind);
}
