/** The three states of availability, exactly as they are written on the wire. */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** One of `available`, `pending` and `sold`. */
export type PetStatus = (typeof PET_STATUSES)[number];

/** The interface leaves the status of a pet created without one open; every pet has one, and this is it. */
export const DEFAULT_STATUS: PetStatus = 'available';

/** The most Unicode code points that the name of a pet may have. */
export const NAME_MAX_LENGTH = 255;

/** A pet that is to be added. */
export interface NewPet {
  /** As `textFault` allows it, of at most `NAME_MAX_LENGTH`; kept code point by code point. */
  readonly name: string;
  /** Any int64. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

/** A pet of the catalogue. */
export interface Pet extends NewPet {
  /** Positive int64, assigned by the store, increasing and never used again. */
  readonly id: bigint;
}

/** Whether the value is one of the three states, letter for letter. */
export function isPetStatus(value: unknown): value is PetStatus {
  return PET_STATUSES.includes(value as PetStatus);
}
