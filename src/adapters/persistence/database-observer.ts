/** Sees what a database is asked to do. Each method runs what it is handed once, and settles as that does. */
export interface DatabaseObserver {
  /** A query, with its waits and repetitions. The summary is the operation and the table: `SELECT pet`. */
  query<T>(summary: string, run: () => Promise<T>): Promise<T>;
  /** A commit of so many creates. Its queries are part of it. */
  commit<T>(pets: number, run: () => Promise<T>): Promise<T>;
}

export const UNOBSERVED: DatabaseObserver = { query: (_summary, run) => run(), commit: (_pets, run) => run() };
