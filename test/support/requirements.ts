import { binary } from './servers.js';

/** A program that a tier of the tests runs, and how Debian installs it. */
interface Requirement {
  readonly program: string;
  readonly install: string;
  /** Folders to search besides those of the PATH. */
  readonly folders?: readonly string[];
}

const SBIN = ['/usr/sbin', '/usr/local/sbin'];

/** What the integration tests run; `integration.setup.ts` finds or starts PostgreSQL and MariaDB. */
export const INTEGRATION: readonly Requirement[] = [
  { program: 'redis-server', install: 'redis-server', folders: ['/usr/local/bin'] },
  { program: process.env.PETSTORE_BROWSER ?? 'chromium', install: 'chromium' },
  { program: 'curl', install: 'curl' },
  { program: 'python3', install: 'python3-minimal' },
];

/** What the system tests run besides. */
export const SYSTEM: readonly Requirement[] = [
  { program: 'nginx', install: 'nginx-light', folders: SBIN },
  { program: 'haproxy', install: 'haproxy', folders: SBIN },
  { program: 'pgbouncer', install: 'pgbouncer', folders: SBIN },
  { program: 'patroni', install: 'patroni' },
  { program: 'etcd', install: 'etcd-server' },
];

/** Throws an error that says what to install, unless all of these programs are installed. */
export function requirePrograms(requirements: readonly Requirement[]): void {
  const missing = requirements.filter(({ program, folders = [] }) => binary(program, folders) === undefined);
  if (missing.length === 0) return;
  const names = missing.map(({ program }) => program).join(', ');
  const packages = missing.map(({ install }) => install).join(' ');
  throw new Error(`These tests need ${names}, not found on this machine. On Debian: apt-get install ${packages}`);
}
