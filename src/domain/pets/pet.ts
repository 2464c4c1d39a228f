export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof PET_STATUSES)[number];

/** The status of a pet that is created without one. */
export const DEFAULT_STATUS: PetStatus = 'available';

/** In Unicode code points. */
export const NAME_MAX_LENGTH = 255;

/** A pet before it has an id. */
export interface NewPet {
  /** Valid by `textFault`, with at most `NAME_MAX_LENGTH` code points; never normalised. */
  readonly name: string;
  /** Any int64. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export interface Pet extends NewPet {
  /** A positive int64, assigned by the database: increasing and never reused. */
  readonly id: bigint;
}

export function isPetStatus(value: unknown): value is PetStatus {
  return PET_STATUSES.includes(value as PetStatus);
}
