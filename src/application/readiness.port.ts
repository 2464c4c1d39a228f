/** Whether the store can be worked with. */
export abstract class Readiness {
  /**
   * Resolves once the store has answered a question about the pets; rejects with `StoreUnavailable` if it cannot, or does
   * not within 1.5 seconds. Any number of calls at a time ask one question.
   */
  abstract check(): Promise<void>;
}
