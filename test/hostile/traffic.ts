import { expect } from '@jest/globals';
import { Connection, WireAnswer } from '../support/connection.js';
import { storedPets } from './stored-pets.js';

/** The key that the service accepts. */
export const KEY = 'key-of-the-rolling-test';

/** A request, and what its answer must be. */
interface Ask {
  readonly target: string;
  readonly body?: string;
  readonly isRight: (answer: WireAnswer) => boolean;
}

/** What clients send, and what they are answered. */
export class Traffic {
  /** What went wrong, a line for each request. */
  readonly problems: string[] = [];
  /** The JSON texts of the pets that were answered with 201. */
  readonly added: string[] = [];
  /** How many requests were answered. */
  answered = 0;
  private sent = 0;

  /** Sends the next request on a connection, and resolves to its answer, once that is held against what was asked for. */
  async exchange(connection: Connection): Promise<WireAnswer> {
    const id = String(++this.sent);
    const { target, body = '', isRight } = this.next();
    connection.write(
      `${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: ${id}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = await connection.answer();
    this.answered++;
    if (answer.status === 201) this.added.push(answer.body);
    if (!isRight(answer) || answer.header('X-Request-Id') !== id) {
      this.problems.push(`${target} was answered with ${answer.status} ${answer.body}`);
    }
    return answer;
  }

  /** Expects no problem, and each pet that was answered with 201 to be there once; resolves to how many are there. */
  async expectAllThere(port: number): Promise<number> {
    const stored = await storedPets(port, KEY);
    const texts = new Set(stored);
    expect(this.problems).toEqual([]);
    expect(this.added.filter((text) => !texts.has(text))).toEqual([]);
    expect(new Set(stored.map(nameIn)).size).toBe(stored.length);
    expect(stored.length).toBe(this.added.length);
    return stored.length;
  }

  /** Every other request adds a pet; between them, by turns, the first page is asked for and the pet that was added last. */
  private next(): Ask {
    const number = this.sent;
    const latest = this.added.at(-1);
    if (number % 2 === 0) {
      const pet = `"name":"pet-${number}","categoryId":${number}`;
      const added = new RegExp(`^\\{"id":[0-9]+,${pet},"status":"available"\\}$`);
      return {
        target: 'POST /v1/pets',
        body: `{${pet}}`,
        isRight: ({ status, body }) => status === 201 && added.test(body),
      };
    }
    if (latest === undefined || number % 4 === 1) {
      return {
        target: 'GET /v1/pets?limit=3',
        isRight: ({ status, body }) => status === 200 && /^\[(?:\{[^{}]*\},?){0,3}\]$/.test(body),
      };
    }
    const id = /"id":([0-9]+)/.exec(latest)?.[1];
    return { target: `GET /v1/pets/${id}`, isRight: ({ status, body }) => status === 200 && body === latest };
  }
}

const nameIn = (text: string): string | undefined => /"name":"([^"]*)"/.exec(text)?.[1];
