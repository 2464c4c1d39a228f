/** The most bytes of a body. */
export const MAX_BODY = 65_536;

/** The most bytes of a request target: RFC 9110, section 4.1, asks for at least 8,000. */
export const MAX_TARGET = 12_288;

/** The most bytes of a target and headers. */
export const MAX_HEAD = 16_384;

/** How long a target and headers may take to arrive, in milliseconds, unless `REQUEST_TIMEOUT` is shorter. */
export const HEAD_TIMEOUT = 10_000;

/** The most requests of a connection without a response, 64 of them pending. What comes behind them is not handled. */
export const MAX_QUEUED = 65;

/** How long what a client still sends behind a last response is discarded, in milliseconds. */
export const LINGER_TIMEOUT = 2_000;

/** The most faults that a message names, so that it stays shorter than the request. */
export const MAX_NAMED = 10;
