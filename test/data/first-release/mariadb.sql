-- The store of the first release (2fcf5ab): pets by its HTTP interface, keys by its commands, pets 10 and 23 deleted by hand; written by "mariadb-dump --skip-extended-insert", less its settings and comments.
CREATE TABLE `api_key` (
  `digest` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `prefix` varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `created_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `expires_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT NULL,
  `revoked_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT NULL,
  PRIMARY KEY (`digest`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `api_key` VALUES ('8358346ddfcd30ef7543bc33225b41ccd0f5c5a6ddc2f670cb13c4940cfa7737','old shop','pets_6kUa','2026-11-22T05:25:50.968Z',NULL,'2026-11-22T05:25:53.362Z');
INSERT INTO `api_key` VALUES ('c2bcd17efc6e3b31ff862660f2ceb0ccbb152ab8da5580c94183cadfe1bf3cb4','till','pets_sl7x','2026-11-22T05:25:50.266Z','2026-11-22T05:26:49.424Z',NULL);
INSERT INTO `api_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','shop','pets_Gx0u','2026-11-22T05:25:49.277Z',NULL,NULL);
CREATE TABLE `idempotency_key` (
  `scope` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `token` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `fingerprint` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `pet_id` bigint(20) NOT NULL,
  `created_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  PRIMARY KEY (`scope`,`token`),
  KEY `idempotency_key_created_at` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `idempotency_key` VALUES ('8358346ddfcd30ef7543bc33225b41ccd0f5c5a6ddc2f670cb13c4940cfa7737','of-another-key','a005bc54037c5a1440b169943d3a76e81b97baa1b157e8f1de068b11db4a156b',13,'2026-11-22T05:25:52.052Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','deleted','b4b9e3bfb044e3a6948cb4d34763585f3f0bc6bb08b0a2b0963c6d67e7507c02',23,'2026-11-22T05:25:52.235Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','first-fresh','fda7c850979aae2111c8e80e0a1f275731c53fed532a79dc2247c8eb374878ad',2,'2026-11-22T05:25:51.860Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','gone','9886ad47c125090a25f7c8ac0bbffce14a398542544d003ae3a45f2d7ceb637c',10,'2026-11-22T05:25:52.000Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','late-fresh','8721ca4e3aeb6163962205e3ff59a5cd82445ce3900f0539a1978e022a30083b',20,'2026-11-22T05:25:52.184Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','old','4f4750eb000c92f34bcd757ccd0d84d66c5a5f99492d027c1d2b0ae7a77f1350',22,'2026-11-22T05:25:52.223Z');
INSERT INTO `idempotency_key` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','quoted-\'\"%_','8d1d5623ea57ce2cd84344490ac38671235bc71e8f107f8651be46b74675dbe3',7,'2026-11-22T05:25:51.953Z');
CREATE TABLE `installation` (
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `value` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `installation` VALUES ('cursor_secret','R89J4arKY2ILMH4Dddt05xCUG6aa8Fkn53dFzAU7CA0');
CREATE TABLE `key_use` (
  `digest` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `last_used_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `get_pet_calls` bigint(20) NOT NULL,
  `last_get_pet_at` varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT NULL,
  PRIMARY KEY (`digest`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `key_use` VALUES ('8358346ddfcd30ef7543bc33225b41ccd0f5c5a6ddc2f670cb13c4940cfa7737','old shop','2026-11-22T05:25:52.278Z',1,'2026-11-22T05:25:52.278Z');
INSERT INTO `key_use` VALUES ('c2bcd17efc6e3b31ff862660f2ceb0ccbb152ab8da5580c94183cadfe1bf3cb4','till','2026-11-22T05:25:52.291Z',1,'2026-11-22T05:25:52.271Z');
INSERT INTO `key_use` VALUES ('d14ef38b93281da0b32820b626c832f7e240ae0b7906144f0e43a0481612dc8f','shop','2026-11-22T05:25:52.331Z',1,'2026-11-22T05:25:52.247Z');
CREATE TABLE `migrations` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `timestamp` bigint(20) NOT NULL,
  `name` varchar(255) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `migrations` VALUES (1,1795132800000,'CreateTables1795132800000');
CREATE TABLE `pet` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `name` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `category_id` bigint(20) NOT NULL,
  `status` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  PRIMARY KEY (`id`),
  KEY `pet_status_id` (`status`,`id`)
) ENGINE=InnoDB AUTO_INCREMENT=24 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `pet` VALUES (1,'Bella',42,'available');
INSERT INTO `pet` VALUES (2,'bella',42,'pending');
INSERT INTO `pet` VALUES (3,' Bella ',42,'sold');
INSERT INTO `pet` VALUES (4,'Zoë',1,'available');
INSERT INTO `pet` VALUES (5,'Zoë',1,'pending');
INSERT INTO `pet` VALUES (6,'🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶🐶',9223372036854775807,'sold');
INSERT INTO `pet` VALUES (7,'👩‍👩‍👧‍👦 🐶',-9223372036854775808,'available');
INSERT INTO `pet` VALUES (8,'\'\"\\%_?:$1`--;/*',9007199254740993,'pending');
INSERT INTO `pet` VALUES (9,'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',-9007199254740993,'sold');
INSERT INTO `pet` VALUES (11,'null',0,'pending');
INSERT INTO `pet` VALUES (12,'‮gnipeels‬',-1,'sold');
INSERT INTO `pet` VALUES (13,'ÄÖÜ ß',2,'available');
INSERT INTO `pet` VALUES (14,'O\'Hara',3,'pending');
INSERT INTO `pet` VALUES (15,'{\"a\":[1]}',4,'sold');
INSERT INTO `pet` VALUES (16,'NULL',5,'available');
INSERT INTO `pet` VALUES (17,'􏿿�',6,'pending');
INSERT INTO `pet` VALUES (18,'a ',8,'sold');
INSERT INTO `pet` VALUES (19,'a',8,'available');
INSERT INTO `pet` VALUES (20,'Newest but one',9,'pending');
INSERT INTO `pet` VALUES (21,'Newest',10,'sold');
INSERT INTO `pet` VALUES (22,'Old',11,'available');
