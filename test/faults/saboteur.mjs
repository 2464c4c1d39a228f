// Loaded before the service, it has statements fail as it is told by messages: with what errors, how likely, how slowly; and it sets the clock.
// MODULES is the folder of the modules that the service is built from, FAULTS_SEED what chance is made from.
import Libsql from 'libsql';
import mysql from 'mysql2';
import pg from 'pg';

const { SqliteEngine } = await import(
  new URL('src/adapters/persistence/typeorm/engines/sqlite.engine.js', process.env.MODULES).href
);

let state = Number(process.env.FAULTS_SEED) | 0;
function chance(probability) {
  state = (Math.imul(state, 1664525) + 1013904223) | 0;
  return (state >>> 0) / 2 ** 32 < probability;
}

let orders = { errors: [], rate: 0, slow: 0, clock: 0 };
const counts = {};
process.on('message', (message) => {
  orders = { ...orders, ...message };
  if (message.counts) process.send(counts);
});
process.channel.unref();

/** The error that the next statement is to fail with; undefined if it is to do its work. */
function sabotage(possible = () => true) {
  if (!chance(orders.rate)) return undefined;
  const error = orders.errors[(state >>> 8) % orders.errors.length];
  if (!possible(error)) return undefined;
  counts[error] = (counts[error] ?? 0) + 1;
  return error;
}

// A server is asked for its own error, so that it knows of it too.
const ask = pg.Client.prototype.query;
pg.Client.prototype.query = function (config, values, callback) {
  const code = sabotage();
  if (code === undefined) return ask.call(this, config, values, callback);
  const raise = `DO $$ BEGIN RAISE EXCEPTION 'sabotage' USING ERRCODE = '${code}'; END $$`;
  return ask.call(this, raise, undefined, typeof values === 'function' ? values : callback);
};

const connection = Object.getPrototypeOf(mysql.Connection.prototype);
const { query } = connection;
for (const name of ['query', 'execute']) {
  const method = connection[name];
  connection[name] = function (...args) {
    const errno = sabotage();
    if (errno === undefined) return method.apply(this, args);
    const signal = `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'sabotage'`;
    return query.call(this, signal, args.at(-1));
  };
}

function throwSabotage(possible) {
  const code = sabotage(possible);
  if (code !== undefined) throw Object.assign(new Error('sabotage'), { code });
}

for (const name of ['all', 'first']) {
  const method = SqliteEngine.prototype[name];
  SqliteEngine.prototype[name] = function (statement) {
    throwSabotage();
    return method.call(this, statement);
  };
}

const exec = Libsql.prototype.exec;
Libsql.prototype.exec = function (sql) {
  if (sql === 'ROLLBACK') return exec.call(this, sql);
  // A commit that failed to reach the disk may have been one all the same. One that was refused, as a busy one is, was none.
  const isDoneFirst = sql === 'COMMIT' && chance(0.5);
  if (!isDoneFirst) throwSabotage();
  if (sql === 'COMMIT' && orders.slow > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, orders.slow);
  const result = exec.call(this, sql);
  if (isDoneFirst) throwSabotage((code) => code.startsWith('SQLITE_IOERR'));
  return result;
};

const RealDate = Date;
globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + orders.clock);
    else super(...args);
  }

  static now() {
    return RealDate.now() + orders.clock;
  }
};

// What is done by the clock is done often.
const every = globalThis.setInterval;
globalThis.setInterval = (work, milliseconds, ...args) => every(work, Math.min(milliseconds, 1_000), ...args);
