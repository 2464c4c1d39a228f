-- The store of the first release (2fcf5ab): pets by its HTTP interface, keys by its commands, pets 10 and 23 deleted by hand; written by "pg_dump --inserts --no-owner --no-privileges", less its settings and comments.
CREATE TABLE public.api_key (
    digest character varying(64) NOT NULL,
    name character varying(64) NOT NULL,
    prefix character varying(16) NOT NULL,
    created_at character varying(24) NOT NULL,
    expires_at character varying(24),
    revoked_at character varying(24)
);
CREATE TABLE public.idempotency_key (
    scope character varying(64) NOT NULL,
    token character varying(255) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    pet_id bigint NOT NULL,
    created_at character varying(24) NOT NULL
);
CREATE TABLE public.installation (
    name character varying(64) NOT NULL,
    value character varying(255) NOT NULL
);
CREATE TABLE public.key_use (
    digest character varying(64) NOT NULL,
    name character varying(64) NOT NULL,
    last_used_at character varying(24) NOT NULL,
    get_pet_calls bigint NOT NULL,
    last_get_pet_at character varying(24)
);
CREATE TABLE public.migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE SEQUENCE public.migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.migrations_id_seq OWNED BY public.migrations.id;
CREATE TABLE public.pet (
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    category_id bigint NOT NULL,
    status character varying(9) NOT NULL
);
CREATE SEQUENCE public.pet_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.pet_id_seq OWNED BY public.pet.id;
ALTER TABLE ONLY public.migrations ALTER COLUMN id SET DEFAULT nextval('public.migrations_id_seq'::regclass);
ALTER TABLE ONLY public.pet ALTER COLUMN id SET DEFAULT nextval('public.pet_id_seq'::regclass);
INSERT INTO public.api_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'shop', 'pets_DIkS', '2026-11-22T05:25:39.618Z', NULL, NULL);
INSERT INTO public.api_key VALUES ('522b7cfbfe69cbf6f4a72d08b215da9feb94b76db9e0bab5df83c611b608e4d5', 'till', 'pets_tRIy', '2026-11-22T05:25:40.390Z', '2026-11-22T05:26:39.732Z', NULL);
INSERT INTO public.api_key VALUES ('b02e755b2c44b2967f81eb0d41d65b75a78aff852a689f4ac4f36f9e1697552f', 'old shop', 'pets_p3w7', '2026-11-22T05:25:41.129Z', NULL, '2026-11-22T05:25:44.114Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'first-fresh', 'fda7c850979aae2111c8e80e0a1f275731c53fed532a79dc2247c8eb374878ad', 2, '2026-11-22T05:25:42.433Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'quoted-''"%_', '8d1d5623ea57ce2cd84344490ac38671235bc71e8f107f8651be46b74675dbe3', 7, '2026-11-22T05:25:42.561Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'gone', '9886ad47c125090a25f7c8ac0bbffce14a398542544d003ae3a45f2d7ceb637c', 10, '2026-11-22T05:25:42.632Z');
INSERT INTO public.idempotency_key VALUES ('b02e755b2c44b2967f81eb0d41d65b75a78aff852a689f4ac4f36f9e1697552f', 'of-another-key', 'a005bc54037c5a1440b169943d3a76e81b97baa1b157e8f1de068b11db4a156b', 13, '2026-11-22T05:25:42.709Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'late-fresh', '8721ca4e3aeb6163962205e3ff59a5cd82445ce3900f0539a1978e022a30083b', 20, '2026-11-22T05:25:42.844Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'old', '4f4750eb000c92f34bcd757ccd0d84d66c5a5f99492d027c1d2b0ae7a77f1350', 22, '2026-11-22T05:25:42.882Z');
INSERT INTO public.idempotency_key VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'deleted', 'b4b9e3bfb044e3a6948cb4d34763585f3f0bc6bb08b0a2b0963c6d67e7507c02', 23, '2026-11-22T05:25:42.908Z');
INSERT INTO public.installation VALUES ('cursor_secret', 'eGpNDdn8SVjPurO50IqX4AjmiVFsAQmaboZDlNGGgZk');
INSERT INTO public.key_use VALUES ('c726808a556f4ab55870dd7a5181eb107b23524351755f1eb0bbca2fd88a209b', 'shop', '2026-11-22T05:25:43.007Z', 1, '2026-11-22T05:25:42.929Z');
INSERT INTO public.key_use VALUES ('b02e755b2c44b2967f81eb0d41d65b75a78aff852a689f4ac4f36f9e1697552f', 'old shop', '2026-11-22T05:25:42.971Z', 1, '2026-11-22T05:25:42.971Z');
INSERT INTO public.key_use VALUES ('522b7cfbfe69cbf6f4a72d08b215da9feb94b76db9e0bab5df83c611b608e4d5', 'till', '2026-11-22T05:25:42.979Z', 1, '2026-11-22T05:25:42.951Z');
INSERT INTO public.migrations VALUES (1, 1795132800000, 'CreateTables1795132800000');
INSERT INTO public.pet VALUES (1, 'Bella', 42, 'available');
INSERT INTO public.pet VALUES (2, 'bella', 42, 'pending');
INSERT INTO public.pet VALUES (3, ' Bella ', 42, 'sold');
INSERT INTO public.pet VALUES (4, 'Zoë', 1, 'available');
INSERT INTO public.pet VALUES (5, 'Zoë', 1, 'pending');
INSERT INTO public.pet VALUES (6, '🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶', 9223372036854775807, 'sold');
INSERT INTO public.pet VALUES (7, '👩‍👩‍👧‍👦 🐶', -9223372036854775808, 'available');
INSERT INTO public.pet VALUES (8, '''"\%_?:$1`--;/*', 9007199254740993, 'pending');
INSERT INTO public.pet VALUES (9, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', -9007199254740993, 'sold');
INSERT INTO public.pet VALUES (11, 'null', 0, 'pending');
INSERT INTO public.pet VALUES (12, '‮gnipeels‬', -1, 'sold');
INSERT INTO public.pet VALUES (13, 'ÄÖÜ ß', 2, 'available');
INSERT INTO public.pet VALUES (14, 'O''Hara', 3, 'pending');
INSERT INTO public.pet VALUES (15, '{"a":[1]}', 4, 'sold');
INSERT INTO public.pet VALUES (16, 'NULL', 5, 'available');
INSERT INTO public.pet VALUES (17, '􏿿�', 6, 'pending');
INSERT INTO public.pet VALUES (18, 'a ', 8, 'sold');
INSERT INTO public.pet VALUES (19, 'a', 8, 'available');
INSERT INTO public.pet VALUES (20, 'Newest but one', 9, 'pending');
INSERT INTO public.pet VALUES (21, 'Newest', 10, 'sold');
INSERT INTO public.pet VALUES (22, 'Old', 11, 'available');
SELECT pg_catalog.setval('public.migrations_id_seq', 1, true);
SELECT pg_catalog.setval('public.pet_id_seq', 23, true);
ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT "PK_0f7043a67e000e5b7783e876da1" PRIMARY KEY (scope, token);
ALTER TABLE ONLY public.key_use
    ADD CONSTRAINT "PK_1613329b3ac09a947a5a29c72d9" PRIMARY KEY (digest);
ALTER TABLE ONLY public.installation
    ADD CONSTRAINT "PK_7da7095271be10ae2bd3d84f3df" PRIMARY KEY (name);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT "PK_81767b36df69beea183823517f9" PRIMARY KEY (digest);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE ONLY public.pet
    ADD CONSTRAINT "PK_b1ac2e88e89b9480e0c5b53fa60" PRIMARY KEY (id);
CREATE INDEX idempotency_key_created_at ON public.idempotency_key USING btree (created_at);
CREATE INDEX pet_status_id ON public.pet USING btree (status, id);
