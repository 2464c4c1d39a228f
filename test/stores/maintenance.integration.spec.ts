import { mariadb, postgres, sqlite } from '../support/stores.js';
import { describeCheck, describeCopy } from './maintenance.contract.js';

// Each kind is a source once and a target once.
describeCopy(sqlite, postgres);
describeCopy(postgres, mariadb);
describeCopy(mariadb, sqlite);
describeCheck(postgres);
describeCheck(mariadb);
