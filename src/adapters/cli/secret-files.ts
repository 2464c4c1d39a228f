import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Finding } from '../../application/finding.js';
import { secrecy } from '../persistence/file-findings.js';

/** Whether others than their owner can read the file of API keys, if there is one, and `.env`, if it has a key or a password. */
export function secretFileFindings(keysFile: string | undefined): Finding[] {
  return [
    ...(keysFile && existsSync(keysFile) ? [secrecy('the file of API keys', keysFile, 0o600)] : []),
    ...(existsSync('.env') && hasSecret(readFileSync('.env', 'utf8')) ? [secrecy('.env', '.env', 0o600)] : []),
  ];
}

function hasSecret(text: string): boolean {
  return Object.entries(parseEnv(text)).some(
    ([name, value = '']) =>
      value !== '' && (name === 'API_KEYS' || name.includes('PASSWORD') || /^\w+:\/\/[^/@]*:[^@]/.test(value)),
  );
}
