import { UsageError } from '../../../../application/errors.js';
import { Finding, words } from '../../../../application/finding.js';
import type { Host } from '../../database-url.js';

/** How long to pause before the hosts are asked again if none of them is the primary, in milliseconds. */
const PAUSE = 250;

/** Within what time a host must say that it is the primary, in milliseconds. */
export const ROLE_TIMEOUT = 1_000;

/** The server that was asked cannot be written: it is a standby, or read-only. */
export class NotPrimary extends UsageError {
  /** `code` is the one by which its engine knows that kind of failure. */
  constructor(
    found: Finding,
    readonly code: string,
  ) {
    super(words(found));
  }
}

/** A pool of connections to the primary. */
export interface PrimaryPool {
  /** Has new connections go there, and breaks those that go elsewhere: what was the primary may come back, and not know that it is no more. */
  moveTo(there: Host): void;
}

/**
 * Which of several hosts is the primary: asked at the start, and again when it could not answer, until one of them says that it is. Of a
 * single host it is taken for granted.
 */
export class Primary {
  private current: Host;
  private seeking = false;

  /** `ask` rejects if the host is not the primary, or does not answer in time; `pools` are those that are open. */
  constructor(
    private readonly hosts: readonly [Host, ...Host[]],
    private readonly ask: (host: Host) => Promise<void>,
    private readonly pools: () => readonly PrimaryPool[],
  ) {
    this.current = hosts[0];
  }

  get host(): Host {
    return this.current;
  }

  /** Asks them all, and takes the first that is; rejects with the error of the last one if none is. */
  async find(): Promise<void> {
    if (this.hosts.length === 1) return;
    const answers = await Promise.allSettled(this.hosts.map((host) => this.ask(host)));
    const found = this.hosts.find((_host, i) => answers[i]?.status === 'fulfilled');
    if (!found) throw noneOf(this.hosts, (answers.at(-1) as PromiseRejectedResult).reason as Error);
    if (found === this.current) return;
    this.current = found;
    for (const pool of this.pools()) pool.moveTo(found);
  }

  /** Asks again and again until one is, or no pool is open any more. */
  seek(): void {
    if (this.hosts.length === 1 || this.seeking) return;
    this.seeking = true;
    // However often something fails, the hosts are asked only so often.
    void this.findInTheEnd().finally(() => setTimeout(() => (this.seeking = false), PAUSE).unref());
  }

  private async findInTheEnd(): Promise<void> {
    while (this.pools().length > 0) {
      try {
        return await this.find();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, PAUSE).unref());
      }
    }
  }
}

/** What a connection is broken with that does not lead to the primary any more: for who asked there, it was lost. */
export function primaryMoved(): Error {
  return Object.assign(new Error('The primary is another one.'), { code: 'ECONNRESET' });
}

/** What is said if none is the primary, which one of them may become any time; the engine knows the kind of failure by the last one's. */
function noneOf(hosts: readonly Host[], last: Error): Error {
  const names = hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  return Object.assign(new Error(`None of ${names} is the primary: ${last.message}`), { driverError: last });
}
