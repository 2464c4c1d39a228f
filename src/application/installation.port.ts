/** What belongs to one installation of the service: to its database, and so to all of its instances. */
export abstract class Installation {
  /**
   * The secret under which cursors are signed: made once, at random, and the same for ever and on every instance.
   * Rejects with `StoreUnavailable` while the store cannot answer.
   */
  abstract cursorSecret(): Promise<string>;
}
