import type { QueryFailedError } from 'typeorm';
import type { ServerUrl } from '../../../../settings/database-url.js';

/** The advice if a table does not exist. */
export const MISSING_TABLE_ADVICE =
  'Restore a backup, or let "petstore migrate" create the tables in an empty database.';

/** What an error of a database means; undefined if the statement is wrong. */
export type Failure =
  /** It cannot be reached, or cannot execute the statement now. Whether the statement was executed is unknown. */
  | 'unavailable'
  /** Only its operator can mend it. */
  | 'misconfigured'
  /** A deadlock, a serialization failure, a busy file or a lock held for a moment: a retry may succeed. */
  | 'conflict'
  /** The wait for the row of an idempotency key timed out. MariaDB reports that of any lock with the same error. */
  | 'rowLocked'
  /** A row with the same unique value exists. */
  | 'duplicate'
  | undefined;

/** The error of a driver, as far as it tells what went wrong. */
export type DriverError = Error & Partial<Record<'code' | 'errno' | 'sqlState' | 'where', unknown>>;

/**
 * Matches errors by the text `code errno sqlState where`, whose missing parts are empty, with the message if it is an
 * error of connecting; says what they mean and, if only the operator can mend it, what would be right, as a sentence.
 */
export type FailureRule = readonly [
  codes: RegExp,
  failure: Failure,
  advice?: (url: ServerUrl, error: QueryFailedError<DriverError>) => string,
];

/** What servers, poolers and providers say to a connection that is not encrypted; the first two also to any other. */
export const DEMANDS_TLS = /no encryption|SSL off|SSL.* required|insecure/i;

/** What the drivers say if a server offers no TLS. */
export const LACKS_TLS = /not support (SSL|secure) connection/;

const tlsParameter = ({ engine }: ServerUrl) => (engine === 'postgres' ? 'sslmode' : 'ssl');

/** Precede the other rules of a server: what it says if a connection is encrypted, is not, or cannot be verified. */
export const TLS_FAILURES: readonly FailureRule[] = [
  [
    DEMANDS_TLS,
    'misconfigured',
    (url) =>
      'The server must admit this user, database and client; if it demands encryption, ' +
      `the URL must have ${tlsParameter(url)}=require.`,
  ],
  [LACKS_TLS, 'misconfigured', (url) => `The server must have TLS, or the URL ${tlsParameter(url)}=disable.`],
  [
    /self-signed certificate|unable to (?:get|verify)|altnames|certificate has expired/i,
    'misconfigured',
    (url) =>
      'The parameter sslrootcert must be the PEM file of its authority, and the host a name in its certificate; ' +
      `${tlsParameter(url)}=require encrypts without verifying.`,
  ],
];
