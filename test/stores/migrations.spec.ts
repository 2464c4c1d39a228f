import { sqlite } from '../support/stores.js';
import { describeMigrations } from './migrations.contract.js';

describeMigrations(sqlite);
