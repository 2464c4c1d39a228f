import { executionAsyncResource } from 'node:async_hooks';

/**
 * What `process.nextTick` queues for a callback; here is one for good. V8 forgets the shape of these objects if it collects garbage a few times
 * while there is none, as it does when nobody asks anything, and the code that makes them stays four times as slow from then on (Node
 * 20 to 24). A request makes five to eight of them: where it was so, they took 4 % of a create.
 */
export const keptTick: { object?: object } = {};

process.nextTick(() => (keptTick.object = executionAsyncResource()));
