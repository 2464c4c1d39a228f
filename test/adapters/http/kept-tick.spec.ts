import { expect, it } from '@jest/globals';
import { executionAsyncResource } from 'node:async_hooks';
import { keptTick } from '../../../src/adapters/http/server/petstore.adapter.js';

it('one of the objects that process.nextTick queues is kept, of the shape that all of them have', async () => {
  const another = await new Promise<object>((resolve) => process.nextTick(() => resolve(executionAsyncResource())));
  expect(Object.keys(another)).toContain('callback');
  expect(Object.keys(keptTick.object ?? {})).toEqual(Object.keys(another));
});
