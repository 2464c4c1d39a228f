import { describe, expect, it } from '@jest/globals';
import { KeyRefused, StoreUnavailable } from '../../src/application/errors.js';

describe('a refusal', () => {
  it('has no stack, and leaves that of a fault as it is', () => {
    const deep = (depth: number): Error => (depth === 0 ? new KeyRefused('missing') : deep(depth - 1));
    expect(deep(5).stack?.split('\n')).toHaveLength(1);
    expect(new StoreUnavailable('down').stack?.split('\n').length).toBeGreaterThan(2);
  });
});
