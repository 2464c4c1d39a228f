import {
  describeLastingApiKeyRepository,
  describeApiKeyRepository,
} from '../../../../contracts/api-key-repository.contract.js';
import { lastingKinds } from '../../../../support/stores.js';

for (const kind of lastingKinds) {
  describeApiKeyRepository(kind);
  describeLastingApiKeyRepository(kind);
}
