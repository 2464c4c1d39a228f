import { expect, it } from '@jest/globals';
import { databaseUrl, ServerUrl } from '../../src/settings/database-url.js';

/** Where a connection string is from, the string, and what it means or what the message about it says. */
type Row = readonly [from: string, url: string, meaning: RegExp | Partial<ServerUrl>];

const prefer = { mode: 'prefer' } as const;
const require = { mode: 'require' } as const;

const PRISMA = /parameter \d of the URL is not supported\. Supported are .*pool/;

/** As the documentation of providers and libraries shows them; names of hosts and secrets are replaced. */
const CONNECTION_STRINGS: readonly Row[] = [
  [
    'Neon',
    'postgresql://alex:AbC123dEf@ep-cool-darkness-a1-pooler.us-east-2.aws.neon.example/dbname?sslmode=require&channel_binding=require',
    { engine: 'postgres', port: 5432, user: 'alex', password: 'AbC123dEf', database: 'dbname', tls: require },
  ],
  [
    'Neon, for a client without SNI',
    'postgres://alex:AbC123dEf@ep-a1.neon.example/dbname?sslmode=require&options=endpoint%3Dep-a1',
    { tls: require, parameters: { sslmode: 'require', options: 'endpoint=ep-a1' } },
  ],
  [
    'Neon, verified',
    'postgresql://alex:AbC123dEf@ep-a1.neon.example/dbname?sslmode=verify-full&sslrootcert=system&connect_timeout=15',
    { tls: { mode: 'verify-full' }, connectTimeout: 15_000 },
  ],
  ['Neon, its command', "psql 'postgresql://alex:AbC123dEf@ep-a1.neon.example/dbname'", /without quotes or a command/],
  ['Heroku', 'postgres://u1a2:p3c4@ec2-1-2-3-4.compute-1.amazonaws.example:5432/d5e6', { port: 5432, tls: prefer }],
  [
    'Supabase, direct',
    'postgresql://postgres:PASSWORD@db.apbkobhfnmcqqzqeeqss.supabase.example:5432/postgres',
    { host: 'db.apbkobhfnmcqqzqeeqss.supabase.example', tls: prefer },
  ],
  [
    'Supabase, pooler',
    'postgres://postgres.apbkobhfnmcqqzqeeqss:PASSWORD@aws-0-us-east-1.pooler.supabase.example:6543/postgres',
    { user: 'postgres.apbkobhfnmcqqzqeeqss', port: 6543, tls: prefer },
  ],
  ['Supabase for Prisma', 'postgres://me:PASSWORD@pooler.supabase.example:6543/postgres?pgbouncer=true', PRISMA],
  [
    'Cloud SQL',
    'postgresql://me:PASSWORD@/pets?host=/cloudsql/project:region:instance',
    { host: '/cloudsql/project:region:instance', user: 'me', database: 'pets', tls: undefined },
  ],
  [
    'Cloud SQL for Prisma',
    'postgresql://me:PASSWORD@localhost/pets?host=/cloudsql/project:region:instance',
    { host: '/cloudsql/project:region:instance', database: 'pets' },
  ],
  [
    'Cloud SQL for SQLAlchemy',
    'postgresql+pg8000://me:PASSWORD@/pets?unix_sock=/cloudsql/p:r:i/.s.PGSQL.5432',
    /without a prefix .*\+psycopg2/,
  ],
  [
    'RDS and Aurora',
    'postgresql://me:PASSWORD@mydb.123456789012.us-east-1.rds.amazonaws.example:5432/pets?sslmode=require',
    { tls: require },
  ],
  ['RDS for MariaDB', 'mariadb://admin:PASSWORD@mydb.us-east-1.rds.amazonaws.example:3306/pets', { tls: prefer }],
  [
    'Azure, flexible server',
    'postgres://me:PASSWORD@pets.postgres.database.azure.example/postgres?sslmode=require',
    { user: 'me', tls: require },
  ],
  [
    'Azure, single server',
    'postgres://me@pets:PASSWORD@pets.postgres.database.azure.example:5432/postgres?sslmode=require',
    { user: 'me@pets', password: 'PASSWORD' },
  ],
  [
    'Azure, keywords',
    'host=pets.postgres.database.azure.example port=5432 dbname=postgres user=me password=PASSWORD sslmode=require',
    /must begin with sqlite:, memory:, postgres:/,
  ],
  [
    'DigitalOcean',
    'postgresql://doadmin:AVNS_PASSWORD@db-pg-do-user-1-0.b.db.ondigitalocean.example:25060/defaultdb?sslmode=require',
    { port: 25_060, tls: require },
  ],
  [
    'DigitalOcean, MySQL',
    'mysql://doadmin:AVNS_PASSWORD@db-mysql-do-user-1-0.b.db.ondigitalocean.example:25060/defaultdb?ssl-mode=REQUIRED',
    /parameter \d of the URL is not supported\. Supported are .*\bssl\b/,
  ],
  ['Render, internal', 'postgresql://me:PASSWORD@dpg-abc123-a/pets', { host: 'dpg-abc123-a', tls: prefer }],
  ['Render, external', 'postgresql://me:PASSWORD@dpg-abc123-a.oregon-postgres.render.example/pets', { tls: prefer }],
  [
    'Render, its command',
    'PGPASSWORD=PASSWORD psql -h dpg-abc123-a.oregon-postgres.render.example -U me pets',
    /must begin with/,
  ],
  [
    'Railway',
    'postgresql://postgres:PASSWORD@monorail.proxy.rlwy.example:12345/railway',
    { port: 12_345, tls: prefer },
  ],
  [
    'Railway, MariaDB',
    'mysql://railway:PASSWORD@mariadb.railway.internal:3306/railway',
    { engine: 'mariadb', tls: prefer },
  ],
  ['Fly', 'postgres://pets:PASSWORD@pets-db.flycast:5432/pets?sslmode=disable', { tls: undefined }],
  [
    'Aiven',
    'postgres://avnadmin:AVNS_PASSWORD@pg-1-project.a.aivencloud.example:12691/defaultdb?sslmode=require',
    { port: 12_691, tls: require },
  ],
  [
    'Aiven, MySQL',
    'mysql://avnadmin:AVNS_PASSWORD@mysql-1-project.a.aivencloud.example:12691/defaultdb?ssl-mode=REQUIRED',
    /parameter \d of the URL is not supported/,
  ],
  [
    'MariaDB Cloud',
    'mariadb://dbpwf1:PASSWORD@dbpwf1.db.skysql.example:3306/pets?ssl=verify-full',
    { tls: { mode: 'verify-full' } },
  ],
  ['Docker Compose', 'postgres://petstore:petstore@postgres:5432/petstore', { host: 'postgres', tls: prefer }],
  ['libpq: a host', 'postgresql://me@localhost/mydb', { user: 'me', password: '', tls: { mode: 'allow' } }],
  ['libpq: only a host', 'postgresql://localhost', /must name a user/],
  ['libpq: no database', 'postgresql://user@localhost', /must name a database/],
  ['libpq: no host', 'postgresql://user@/mydb', /must name a host/],
  ['libpq: hosts', 'postgresql://me@host1:123,host2:456/somedb?application_name=myapp', /must name one host/],
  ['libpq: hosts in a parameter', 'postgresql://me@/somedb?host=host1,host2', /must name one host/],
  [
    'libpq: parameters',
    'postgresql:///mydb?host=localhost&port=5433&user=other&password=se+cret%21',
    { host: 'localhost', port: 5433, user: 'other', password: 'se+cret!', database: 'mydb' },
  ],
  [
    'libpq: options',
    'postgresql://user@localhost:5433/mydb?options=-c%20synchronous_commit%3Doff&application_name=pets',
    { parameters: { options: '-c synchronous_commit=off', application_name: 'pets' } },
  ],
  ['libpq: an address of IPv6', 'postgresql://me@[2001:db8::1234]/database', { host: '2001:db8::1234', tls: prefer }],
  [
    'libpq: a socket',
    'postgresql://me@%2Fvar%2Flib%2Fpostgresql/dbname',
    { host: '/var/lib/postgresql', tls: undefined },
  ],
  ['libpq: for JDBC', 'postgresql://me@db.example/pets?ssl=true', { tls: require }],
  [
    'libpq: the primary',
    'postgresql://me@db.example/pets?target_session_attrs=read-write&keepalives_idle=30&gssencmode=disable',
    { tls: prefer },
  ],
  ['libpq: a replica', 'postgresql://me@db.example/pets?target_session_attrs=standby', /any or read-write or primary/],
  [
    'libpq: what pg lacks',
    'postgresql://me@db.example/pets?hostaddr=10.0.0.1',
    /parameter 1 of the URL is not supported/,
  ],
  ['libpq: TLS at once', 'postgresql://me@db.example/pets?sslnegotiation=direct&sslmode=require', { tls: require }],
  ['libpq: TLS at once, maybe', 'postgresql://me@db.example/pets?sslnegotiation=direct', /have sslmode=require/],
  ['Prisma', 'postgresql://janedoe:mypassword@localhost:5432/mydb?schema=sample', PRISMA],
  ['Prisma, its pool', 'postgresql://johndoe:mypassword@db.example/mydb?connection_limit=5&pool_timeout=2', PRISMA],
  ['Prisma, MySQL', 'mysql://USER:PASSWORD@db.example:3306/DATABASE?sslaccept=strict', PRISMA],
  ['JDBC', 'jdbc:postgresql://localhost/test?user=fred&password=secret&ssl=true', /without a prefix such as jdbc:/],
  [
    'JDBC without its prefix',
    'postgresql://me@db.example/pets?currentSchema=pets',
    /parameter 1 of the URL is not supported/,
  ],
  ['JDBC, MariaDB', 'mariadb://me@db.example/pets?useSSL=true', /parameter \d of the URL is not supported/],
  ['SQLAlchemy', 'postgresql+psycopg2://scott:tiger@localhost/mydatabase', /without a prefix .*\+psycopg2/],
  ['SQLAlchemy, an @ in a password', 'postgresql://user:p%40ss@db.example/pets', { password: 'p@ss' }],
  ['SQLAlchemy, MySQL', 'mysql+mysqldb://scott:tiger@localhost/foo', /without a prefix/],
  [
    'node-postgres',
    'postgresql://dbuser:secretpassword@database.server.example:3211/mydb',
    { port: 3211, tls: prefer },
  ],
  ['node-postgres, not verified', 'postgres://me@db.example/pets?sslmode=no-verify', { tls: require }],
  ['node-postgres, a socket', 'socket:/var/run/postgresql/?db=mydb', /must begin with/],
  [
    'node-postgres, as libpq',
    'postgres://me@db.example/pets?uselibpqcompat=true&sslmode=require',
    /parameter \d of the URL is not supported/,
  ],
  ['mysql2', 'mysql://root:password@localhost:3306/test', { engine: 'mariadb', tls: { mode: 'allow' } }],
  ['mysql2, a socket', 'mariadb://me@/pets?socket=/run/mysqld/mysqld.sock', { host: '/run/mysqld/mysqld.sock' }],
  ['Rails', 'mysql2://me:PASSWORD@localhost/pets', /must begin with/],
  ['SQLite, in memory', 'sqlite::memory:', /must be sqlite:FILE/],
  ['Docker, a quoted file', '"postgres://me:PASSWORD@db.example/pets"', /without quotes/],
  ['a # in a password', 'postgres://me:PASS#WORD@db.example/pets', /not contain a #; write it as %23/],
  ['a / in a password', 'postgres://me:PASS/WORD@db.example/pets', /%2F, %3F and %40/],
  ['a ? in a password', 'postgres://me:PASS?WORD@db.example/pets', /%2F, %3F and %40/],
  ['a % in a password', 'postgres://me:PASS%WORD@db.example/pets', /encode a % as %25/],
  ['a port that is none', 'postgres://me:PASSWORD@db.example:PORT/pets', /a port that is a number/],
];

it.each(CONNECTION_STRINGS)(
  'the connection string of %s means what it does there, or is rejected for a reason',
  (_from, url, meaning) => {
    if (!(meaning instanceof RegExp)) return expect(databaseUrl('DATABASE_URL', `${url}\n`)).toMatchObject(meaning);
    expect(() => databaseUrl('DATABASE_URL', url)).toThrow(meaning);
    // Neither a password nor the name of a host.
    expect(() => databaseUrl('DATABASE_URL', url)).not.toThrow(/\bPASS(?!WORD@HOST)|secret|\.example/);
  },
);
