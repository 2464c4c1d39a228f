import type { Fetch, FetchInit } from '../../client/petstore.js';

/** What happens to a request: a response, a failure of the connection, or nothing at all, before or in the body. */
export type Step = Response | Error | 'hangs' | 'hangs in the body';

/** A `fetch` that plays these steps, the last one for ever, and heeds no signal. */
export class FakeFetch {
  readonly requests: (FetchInit & { url: string })[] = [];

  constructor(private readonly steps: readonly Step[]) {}

  readonly fetch: Fetch = (url, init) => {
    const step = this.steps[Math.min(this.requests.length, this.steps.length - 1)] as Step;
    this.requests.push({ url, ...init });
    const never = new Promise<never>(() => undefined);
    if (step === 'hangs') return never;
    if (step === 'hangs in the body')
      return Promise.resolve({ status: 200, headers: new Headers(), text: () => never });
    return step instanceof Error ? Promise.reject(step) : Promise.resolve(step.clone());
  };

  /** A header of each request. */
  sent(header: string): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers[header]);
  }
}

export const BELLA = '{"id":1,"name":"Bella","categoryId":42,"status":"available"}';

/** A response of the service. */
export function response(status: number, body = BELLA, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers: { 'X-Request-Id': 'request-7', ...headers } });
}

/** An error response of the service. */
export function failure(status: number, code: string, headers: Record<string, string> = {}): Response {
  return response(status, JSON.stringify({ code, message: `It is ${code}.`, status }), headers);
}

/** A response of a proxy. */
export function html(status: number, headers: Record<string, string> = {}): Response {
  return new Response('<html><h1>Bad Gateway</h1></html>', {
    status,
    headers: { 'Content-Type': 'text/html', ...headers },
  });
}
