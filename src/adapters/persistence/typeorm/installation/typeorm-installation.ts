import { Installation } from '../../../../application/installation.port.js';
import { Database } from '../database.js';
import { InstallationSchema } from './installation.schema.js';

/** The installation's facts in the table `installation`, which the migrations fill. */
export class TypeOrmInstallation extends Installation {
  constructor(private readonly database: Database) {
    super();
  }

  async cursorSecret(): Promise<string> {
    const fact = await this.database.read('SELECT installation', (engine) =>
      engine.readSource.getRepository(InstallationSchema).findOneByOrFail({ name: 'cursor_secret' }),
    );
    return fact.value;
  }
}
