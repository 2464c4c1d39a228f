import type { IncomingMessage } from 'node:http';

/** Header fields as Node writes and reads them raw: names and values in turn. */
export type HeaderList = readonly string[];

/** How often a field stands in the head of a message; Node's `headers` hides all but one, or joins them. The name is in lower case. */
export function fieldLines({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] as string;
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}
