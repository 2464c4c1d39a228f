import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { isInRanges } from '../../src/process/node-version.js';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };

it.each(['20.19.0', '20.20.2', '22.13.0', '22.20.1', '24.11.0', '24.100.0', '25.0.0', '26.12.0'])(
  'the service runs on Node %s',
  (version) => expect(isInRanges(version, engines.node)).toBe(true),
);

it.each(['18.20.8', '20.9.0', '20.18.3', '21.7.3', '22.0.0', '22.12.0', '23.11.1', '24.0.0', '24.10.0'])(
  'the service does not run on Node %s',
  (version) => expect(isInRanges(version, engines.node)).toBe(false),
);
