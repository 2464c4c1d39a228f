/** The database, as far as a readiness check needs it. */
export abstract class Readiness {
  /**
   * Resolves once the database has answered a query of the pets; rejects with `DatabaseUnavailable` if it does not
   * within 1.5 seconds. Concurrent calls share one query.
   */
  abstract check(): Promise<void>;
}
