import { newPetJson } from './fields.js';

/** A key for `API_KEYS`, which the line `KEY` of a request stands for. */
export const KEY = 'key-of-the-raw-requests';

/** The text of a request with a Host, these header lines, and the length of the body if it has one. */
export function rawRequest(line: string, fields: readonly string[] = ['KEY'], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  return [`${line} HTTP/1.1`, 'Host: x', ...fields, ...length, '', body].join('\n');
}

/** A GET with the key and these header lines besides. */
export const get = (target: string, ...fields: string[]): string => rawRequest(`GET ${target}`, ['KEY', ...fields]);

/** A createPet with the key and these header lines besides. */
export const post = (name: string, ...fields: string[]): string =>
  rawRequest('POST /v1/pets', ['KEY', 'Content-Type: application/json', ...fields], petBody(name));

export const petBody = (name: string): string => newPetJson({ name: JSON.stringify(name) });

/** What goes over the wire: each line ends with CRLF, and the key is put in. The characters of the text are bytes. */
export const bytes = (text: string): Buffer =>
  Buffer.from(text.replaceAll('\n', '\r\n').replaceAll('KEY', `Authorization: Bearer ${KEY}`), 'latin1');
