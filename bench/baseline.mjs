// What Node can do: the same three operations on node:http with prepared statements on the same database, the text written by hand. It
// checks the key and little else, has no pages, no deprecation, no request id, no log, and commits each pet by itself.
import { createServer } from 'node:http';
import Libsql from 'libsql';
import mysql from 'mysql2';
import pg from 'pg';

const { PORT, DATABASE_URL, API_KEY } = process.env;
const { all, ofStatus, one, insert } = database();

function database() {
  if (DATABASE_URL.startsWith('sqlite:')) return sqlite();
  return DATABASE_URL.startsWith('postgres') ? postgres() : mariadb();
}

function statements(columns = 'id, name, category_id, status') {
  return {
    all: `SELECT ${columns} FROM pet ORDER BY id DESC LIMIT $1`,
    ofStatus: `SELECT ${columns} FROM pet WHERE status = $1 ORDER BY id DESC LIMIT $2`,
    one: `SELECT ${columns} FROM pet WHERE id = $1`,
    insert: `INSERT INTO pet (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${columns}`,
  };
}

/** Each statement as a function of its values that returns its rows. */
function sqlite() {
  const database = new Libsql(DATABASE_URL.replace('sqlite:', ''));
  database.defaultSafeIntegers(true);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  const prepared = ([name, sql]) => {
    const statement = database.prepare(sql.replace(/\$\d/g, '?')).raw();
    return [
      name,
      name === 'all' || name === 'ofStatus'
        ? (...values) => statement.all(values)
        : (...values) => [statement.get(values)],
    ];
  };
  return Object.fromEntries(Object.entries(statements()).map(prepared));
}

/** The same, promised. */
function postgres() {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
  const prepared = ([name, text]) => [
    name,
    async (...values) => (await pool.query({ name, text, values, rowMode: 'array' })).rows,
  ];
  return Object.fromEntries(Object.entries(statements()).map(prepared));
}

/** The same on MariaDB; an integer that is bound has its type. */
function mariadb() {
  const uri = DATABASE_URL.replace('mariadb:', 'mysql:');
  const pool = mysql
    .createPool({ uri, connectionLimit: 10, supportBigNumbers: true, bigNumberStrings: true })
    .promise();
  const typed = (value) => (typeof value === 'string' ? value : mysql.TypedParameter.BIGINT(value));
  const prepared = ([name, text]) => {
    const sql = text.replace(/\$\d/g, '?');
    return [name, async (...values) => (await pool.execute({ sql, values: values.map(typed), rowsAsArray: true }))[0]];
  };
  return Object.fromEntries(Object.entries(statements()).map(prepared));
}

const text = ([id, name, categoryId, status]) =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

function send(response, status, body) {
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))]);
  response.end(body);
}

const fail = (response, status, code, message) => send(response, status, JSON.stringify({ code, message, status }));

/** Hands rows over: at once, or when they come. */
const take = (rows, use) => (rows instanceof Promise ? rows.then(use) : use(rows));

function list(query, response) {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get('limit') ?? 20);
  const status = parameters.get('status');
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100))
    return fail(response, 400, 'invalid_parameter', 'limit');
  take(status === null ? all(limit) : ofStatus(status, limit), (rows) =>
    send(response, 200, `[${rows.map(text).join(',')}]`),
  );
}

function create(request, response) {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const { name, categoryId, status = 'available' } = JSON.parse(body);
    if (typeof name !== 'string' || !Number.isSafeInteger(categoryId))
      return fail(response, 400, 'invalid_field', 'field');
    take(insert(name, categoryId, status), ([row]) => send(response, 201, text(row)));
  });
}

createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${API_KEY}`) return fail(response, 401, 'api_key_invalid', 'key');
  const [path, query] = request.url.split('?');
  if (path === '/v1/pets') return request.method === 'POST' ? create(request, response) : list(query, response);
  take(one(BigInt(path.slice('/v1/pets/'.length))), ([row]) => {
    if (row) send(response, 200, text(row));
    else fail(response, 404, 'pet_not_found', 'pet');
  });
}).listen(Number(PORT), '127.0.0.1');
