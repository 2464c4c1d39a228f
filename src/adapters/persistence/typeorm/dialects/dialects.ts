import type { DataSource, EntityManager } from 'typeorm';
import type { BindParameter, Dialect } from './dialect.js';
import { mariadb } from './mariadb.js';
import { postgres } from './postgres.js';
import { sqlite } from './sqlite.js';

/** The dialect of each engine. */
export const DIALECTS = { sqlite, postgres, mariadb };

export function dialectOf({ options: { type } }: DataSource): Dialect {
  return DIALECTS[type === 'better-sqlite3' ? 'sqlite' : (type as 'postgres' | 'mariadb')];
}

/** Writes a statement in the dialect of a database, and binds its parameters in the order of the text. */
export type WriteSql = (bind: BindParameter, dialect: Dialect) => string;

export function query<Row>(manager: EntityManager, writeSql: WriteSql): Promise<Row[]> {
  const parameters: unknown[] = [];
  const { dataSource } = manager;
  const bind = (value: unknown) => dataSource.driver.createParameter('', parameters.push(value) - 1);
  return manager.query<Row[]>(writeSql(bind, dialectOf(dataSource)), parameters);
}
