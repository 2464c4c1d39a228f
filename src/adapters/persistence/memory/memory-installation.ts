import { Installation } from '../../../application/installation.port.js';
import { Secrets } from '../../../application/secrets.port.js';

/** An installation that lasts as long as the process. */
export class MemoryInstallation extends Installation {
  private readonly secret: string;

  constructor(secrets: Secrets) {
    super();
    this.secret = secrets.random(43);
  }

  cursorSecret(): Promise<string> {
    return Promise.resolve(this.secret);
  }
}
