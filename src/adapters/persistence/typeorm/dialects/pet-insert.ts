import { IDEMPOTENCY_KEY_LIFETIME } from '../../../../application/pets/pet-repository.port.js';

/** The columns of a new pet, with their types on PostgreSQL. */
export const NEW_PET = { name: 'text', category_id: 'bigint', status: 'text' } as const;

/** The columns of a row that an INSERT of pets sends: the last two are null without an Idempotency-Key. */
export const NEW_ROW = { ...NEW_PET, request_key: 'text', fingerprint: 'text' } as const;

export type NewPetRow = Readonly<Record<keyof typeof NEW_ROW, unknown>>;

/** The columns that an INSERT of pets returns. `replays` is 0 for a row that it has created. */
export const CREATED = ['id', 'request_key', 'fingerprint', 'replays'] as const;

/** The assignments to a row whose key is sent again. A key whose lifetime is over is cleared, so that it is free. */
export function replay(stored: string, sent: (column: string) => string): string {
  const hasExpired = `${stored}.requested_at <= ${sent('requested_at')} - ${IDEMPOTENCY_KEY_LIFETIME}`;
  return `replays = ${stored}.replays + 1,
    request_key = CASE WHEN ${hasExpired} THEN NULL ELSE ${stored}.request_key END`;
}

/** What follows an INSERT of pets into the table `pet AS old`. */
export const ON_CONFLICT = `ON CONFLICT (request_key) WHERE request_key IS NOT NULL
  DO UPDATE SET ${replay('old', (column) => `excluded.${column}`)}`;
