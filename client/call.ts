import { parseJson } from './json.js';
import { PetStoreError } from './pet-store-error.js';

/** What the client needs of a `fetch`: the platform's, undici's and most others have it. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** What the client passes to `fetch`. */
export interface FetchInit {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  redirect: 'manual';
  signal: AbortSignal;
}

/** What the client reads of a response. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** An API key, or a function that returns or resolves to one. */
export type ApiKey = string | undefined | (() => string | undefined | Promise<string | undefined>);

/** A try that failed, before the next one. */
export interface Retry {
  /** How often the request has been sent so far. */
  readonly tries: number;
  /** Why the last try failed. */
  readonly error: PetStoreError;
  /** Milliseconds until the next try. */
  readonly delay: number;
}

/** How calls are made; times in milliseconds. `PetStoreOptions` describes each. */
export interface Policy {
  readonly apiKey: ApiKey;
  readonly timeout: number;
  readonly retries: number;
  readonly deadline: number;
  readonly fetch: Fetch;
  readonly onRetry: ((retry: Retry) => void) | undefined;
}

/** A request, without its API key. */
export interface Request {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: FetchResponse['headers'];
  /** The parsed body; undefined if it is malformed. */
  readonly body: unknown;
}

/** What a retry may change besides 2xx with a malformed body, 409 of a twin in flight, and the first 500. */
const TRANSIENT = new Set([408, 429, 502, 503, 504]);

/** The limits of the random waits without `Retry-After`, in milliseconds: of the first one, and of all. */
const [FIRST_WAIT, LONGEST_WAIT] = [500, 8_000];

/** Sends a request until `read` accepts a successful response, and resolves to what that returns. */
export async function call<T>(
  policy: Policy,
  request: Request,
  read: (body: unknown, headers: FetchResponse['headers']) => T | undefined,
  signal: AbortSignal | undefined,
): Promise<T> {
  const end = performance.now() + policy.deadline;
  const left = () => Math.max(0, end - performance.now());
  let key = await currentKey(policy, left(), signal, 0);
  let [retries, had500, had401] = [0, false, false];
  for (let tries = 1; ; tries += 1) {
    const limit = Math.min(policy.timeout, left());
    let error: PetStoreError;
    let retryAfter: string | null = null;
    try {
      const answer = await within(limit, signal, (own) => exchange(policy.fetch, request, key, own));
      const value = answer && isSuccess(answer) ? read(answer.body, answer.headers) : undefined;
      if (value !== undefined) return value;
      error = answer ? errorOf(answer, tries, key) : timedOut(limit, tries);
      retryAfter = answer?.headers.get('retry-after') ?? null;
    } catch (thrown) {
      signal?.throwIfAborted();
      const cause = withoutKey(thrown, key);
      const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
      error = new PetStoreError(`The connection failed: ${reason}`, { code: 'network', tries, cause });
    }
    let delay = 0;
    if (error.status === 401 && !had401) {
      const replaced = key;
      key = await currentKey(policy, left(), signal, tries);
      if (key === replaced) throw error;
      had401 = true;
    } else {
      if (retries === policy.retries || !isTransient(error, had500)) throw error;
      delay = retryAfterOf(retryAfter) ?? Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** retries);
      if (delay >= left()) throw error;
      retries += 1;
      had500 ||= error.status === 500;
    }
    policy.onRetry?.({ tries, error, delay });
    if (delay > 0) await within(delay, signal, () => new Promise<never>(() => undefined));
  }
}

/** Sends a request once, and reads the whole response. */
async function exchange(fetch: Fetch, request: Request, key: string, signal: AbortSignal): Promise<Answer> {
  const { url, method, body } = request;
  const headers = { Accept: 'application/json', Authorization: `Bearer ${key}`, ...request.headers };
  // A redirected POST would arrive as a GET, and the key at another host. Not 'error', which edge runtimes lack.
  const init = { method, headers, redirect: 'manual' as const, signal, ...(body !== undefined && { body }) };
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, body: parseJson(await response.text()) };
}

/**
 * Resolves as the step does, or to undefined after so many milliseconds; rejects with the reason of `outer` as soon as
 * that is aborted. Then the step's own signal is aborted, but nothing depends on whether the step heeds it.
 */
async function within<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  step: (own: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  let [abort, timer]: [() => void, ReturnType<typeof setTimeout> | undefined] = [() => undefined, undefined];
  try {
    return await new Promise<T | undefined>((resolve, reject) => {
      abort = () => {
        reject(outer?.reason as Error);
        controller.abort(outer?.reason);
      };
      outer?.addEventListener('abort', abort);
      timer = setTimeout(() => {
        resolve(undefined);
        controller.abort();
      }, milliseconds);
      step(controller.signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** The API key that is valid now. Throws a `TypeError` for what no header can carry. */
async function currentKey({ apiKey, deadline }: Policy, left: number, signal: AbortSignal | undefined, tries: number) {
  if (typeof apiKey !== 'function') return validKey(apiKey);
  const found = await within(left, signal, async () => [await apiKey()]);
  if (!found) throw timedOut(deadline, tries);
  return validKey(found[0]);
}

/** The key, unless it is no token of RFC 6750. The platform's message about such a header would repeat it. */
export function validKey(key: unknown): string {
  if (typeof key === 'string' && /^[\w.~+/-]+=*$/.test(key)) return key;
  throw new TypeError('apiKey must be an API key of the service, or a function that returns or resolves to one.');
}

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

function isTransient({ code, status = 0 }: PetStoreError, had500: boolean): boolean {
  if (code === 'network' || code === 'timeout' || code === 'idempotency_in_progress') return true;
  return TRANSIENT.has(status) || (status >= 200 && status < 300) || (status === 500 && !had500);
}

/** The milliseconds of a `Retry-After`: seconds or a date (RFC 9110, section 10.2.3); undefined if it is neither. */
function retryAfterOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const date = value.endsWith(' GMT') ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

const timedOut = (milliseconds: number, tries: number): PetStoreError =>
  new PetStoreError(`No complete response within ${Math.round(milliseconds)} ms.`, { code: 'timeout', tries });

/** The error that a response has, or what its status says if the body is not the service's. */
function errorOf({ status, headers, body }: Answer, tries: number, key: string): PetStoreError {
  const requestId = headers.get('x-request-id') ?? undefined;
  const { code, message, status: own } = Object(body) as Record<string, unknown>;
  if (typeof code === 'string' && typeof message === 'string' && own === BigInt(status))
    return new PetStoreError(redact(message, key), { code, status, requestId, tries });
  const hint = status === 0 || (status >= 300 && status < 400) ? ' It is a redirect: check baseUrl.' : '';
  const text = `The response with status ${status} is not from the pet store.${hint}`;
  return new PetStoreError(text, { code: 'unexpected_response', status, requestId, tries });
}

const redact = (text: string, key: string): string => text.replaceAll(key, '…');

/** A copy of an error and its causes without the API key, which a `fetch` of the user may have put anywhere in them. */
function withoutKey(thrown: unknown, key: string, depth = 0): Error {
  const { name, message, code, cause } = Object(thrown) as Record<string, unknown>;
  const copy = new Error(redact(String(message ?? thrown), key));
  if (typeof name === 'string') copy.name = redact(name, key);
  if (typeof code === 'string') Object.assign(copy, { code: redact(code, key) });
  if (cause !== undefined && depth < 5) copy.cause = withoutKey(cause, key, depth + 1);
  return copy;
}
