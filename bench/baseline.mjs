// What Node can do: the same three operations on node:http with prepared statements on the same file, the text written by hand. It checks
// the key and little else, has no pages, no deprecation, no request id, no log, and commits each animal by itself.
import { createServer } from 'node:http';
import Libsql from 'libsql';

const { PORT, FILE, API_KEY } = process.env;
const database = new Libsql(FILE);
database.defaultSafeIntegers(true);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
const columns = 'id, name, category_id, status';
const all = database.prepare(`SELECT ${columns} FROM pet ORDER BY id DESC LIMIT ?`).raw();
const byStatus = database.prepare(`SELECT ${columns} FROM pet WHERE status = ? ORDER BY id DESC LIMIT ?`).raw();
const one = database.prepare(`SELECT ${columns} FROM pet WHERE id = ?`).raw();
const insert = database
  .prepare(`INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING ${columns}`)
  .raw();

const text = ([id, name, categoryId, status]) =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

function send(response, status, body) {
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))]);
  response.end(body);
}

const fail = (response, status, code, message) => send(response, status, JSON.stringify({ code, message, status }));

function list(query, response) {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get('limit') ?? 20);
  const status = parameters.get('status');
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100))
    return fail(response, 400, 'invalid_parameter', 'limit');
  const rows = status === null ? all.all(limit) : byStatus.all(status, limit);
  send(response, 200, `[${rows.map(text).join(',')}]`);
}

function create(request, response) {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const { name, categoryId, status = 'available' } = JSON.parse(body);
    if (typeof name !== 'string' || !Number.isSafeInteger(categoryId))
      return fail(response, 400, 'invalid_field', 'field');
    send(response, 201, text(insert.get(name, categoryId, status)));
  });
}

createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${API_KEY}`) return fail(response, 401, 'api_key_invalid', 'key');
  const [path, query] = request.url.split('?');
  if (path === '/v1/pets') return request.method === 'POST' ? create(request, response) : list(query, response);
  const row = one.get(BigInt(path.slice('/v1/pets/'.length)));
  if (row) send(response, 200, text(row));
  else fail(response, 404, 'pet_not_found', 'pet');
}).listen(Number(PORT), '127.0.0.1');
