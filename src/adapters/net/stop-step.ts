/** What processes that listen on one port come to together when they stop: no connection comes any more, and nobody listens any more. */
export type StopStep = 'quiet' | 'closed';
