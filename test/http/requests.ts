import { expect } from '@jest/globals';
import { OPERATIONS, Operation } from '../support/operations.js';
import type { Answer, Service } from '../support/service.js';

/** A pet as `JSON.parse` reads it: compare texts where digits above 2^53 matter. */
export interface ParsedPet {
  readonly id: number;
  readonly name: string;
  readonly status: string;
}

/** The operation of this name in the table. */
export function operation(name: string): Operation {
  const found = OPERATIONS.find((each) => each.name === name);
  if (!found) throw new Error(`The table of operations has no ${name}.`);
  return found;
}

export function pets(response: Answer): ParsedPet[] {
  expect(response.status).toBe(200);
  return JSON.parse(response.body) as ParsedPet[];
}

/** The target of the `Link` to the next page; undefined on the last page. */
export function nextPage({ headers }: Answer): string | undefined {
  if (headers.link === undefined) return undefined;
  const target = /^<([^>]+)>; rel="next"$/.exec(headers.link as string)?.[1];
  expect(target).toMatch(/^\/v1\/pets\?limit=\d+(?:&\w+=[\w-]+)*&cursor=[\w-]+$/);
  return target;
}

/** The pets of all pages, beginning with this target. */
export async function walk(service: Pick<Service, 'send'>, first: string): Promise<ParsedPet[]> {
  const found: ParsedPet[] = [];
  for (let target: string | undefined = first; target !== undefined;) {
    const response = await service.send(target);
    found.push(...pets(response));
    target = nextPage(response);
  }
  return found;
}
