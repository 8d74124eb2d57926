/** The tables of 0.1.0 on database servers, as its `onqueue migrate` made them: PostgreSQL's without their functions. */

export const firstPostgresTables = (table: string): string => `
CREATE TABLE IF NOT EXISTS onqueue_versions (name text PRIMARY KEY, version integer NOT NULL);
CREATE TABLE "${table}" (
  id bigserial PRIMARY KEY, queue text NOT NULL, payload text NOT NULL, attempts bigint NOT NULL, reserved_at integer,
  available_at integer NOT NULL, created_at integer NOT NULL, crashes bigint NOT NULL DEFAULT 0, exceptions bigint NOT NULL DEFAULT 0,
  timeouts bigint NOT NULL DEFAULT 0, releases bigint NOT NULL DEFAULT 0, cancelled boolean NOT NULL DEFAULT false, place bigint,
  due_at double precision, lease_until double precision, holder text, uuid text
);
ALTER TABLE "${table}" SET (fillfactor = 75, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE SEQUENCE "${table}_places" OWNED BY "${table}".place;
CREATE INDEX "${table}_ready" ON "${table}" (queue, place) WHERE place IS NOT NULL AND reserved_at IS NULL;
CREATE INDEX "${table}_delayed" ON "${table}" (queue, (coalesce(due_at, available_at::double precision)), id)
  WHERE place IS NULL AND reserved_at IS NULL;
CREATE INDEX "${table}_reserved" ON "${table}" (queue, lease_until) WHERE reserved_at IS NOT NULL;
CREATE INDEX "${table}_uuid" ON "${table}" (uuid) WHERE uuid <> '';
CREATE INDEX "${table}_unread" ON "${table}" (id) WHERE uuid IS NULL;
CREATE TABLE "failed_${table}" (
  id bigserial PRIMARY KEY, uuid text NOT NULL, connection text NOT NULL, queue text NOT NULL, payload text NOT NULL,
  exception text NOT NULL, failed_at timestamp(0) without time zone NOT NULL DEFAULT current_timestamp, raw bytea, failed_ms bigint,
  name text NOT NULL DEFAULT '', attempts bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX "failed_${table}_uuid_unique" ON "failed_${table}" (uuid);
CREATE INDEX "failed_${table}_queue" ON "failed_${table}" (queue, id);
CREATE TABLE "${table}_queues" (name text PRIMARY KEY);
CREATE TABLE "${table}_locks" (name text PRIMARY KEY, token text NOT NULL, expires_at double precision NOT NULL);
CREATE INDEX "${table}_locks_expires_at" ON "${table}_locks" (expires_at);
CREATE TABLE "${table}_orders" (kind text NOT NULL, value text NOT NULL, PRIMARY KEY (kind, value));
CREATE TABLE "${table}_calls" (client text PRIMARY KEY, call bigint NOT NULL, called_at integer NOT NULL, answer bigint[]);
INSERT INTO onqueue_versions (name, version) VALUES ('${table}', 1)`;

const LIKE_OTHERS = 'ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = DYNAMIC';

export const firstMysqlTables = (table: string): string => `
CREATE TABLE IF NOT EXISTS onqueue_versions (name VARCHAR(64) NOT NULL PRIMARY KEY, version INT NOT NULL) ${LIKE_OTHERS};
CREATE TABLE ${table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, queue VARCHAR(255) NOT NULL, payload LONGBLOB NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0, reserved_at INT UNSIGNED NULL, available_at INT UNSIGNED NOT NULL,
  created_at INT UNSIGNED NOT NULL, crashes BIGINT NOT NULL DEFAULT 0, exceptions BIGINT NOT NULL DEFAULT 0,
  timeouts BIGINT NOT NULL DEFAULT 0, releases BIGINT NOT NULL DEFAULT 0, cancelled TINYINT NOT NULL DEFAULT 0, place BIGINT NULL,
  due_at DECIMAL(16, 6) NULL, lease_until DECIMAL(16, 6) NULL, holder VARBINARY(64) NULL, uuid VARBINARY(255) NULL,
  size INT UNSIGNED GENERATED ALWAYS AS (OCTET_LENGTH(payload)) STORED,
  state TINYINT GENERATED ALWAYS AS (
    CASE WHEN reserved_at IS NOT NULL THEN 2 WHEN place IS NOT NULL THEN 1 ELSE 0 END) STORED,
  turn DECIMAL(18, 6) GENERATED ALWAYS AS (
    CASE WHEN reserved_at IS NOT NULL THEN lease_until WHEN place IS NOT NULL THEN place ELSE COALESCE(due_at, available_at) END) STORED,
  INDEX ${table}_turns (queue, state, turn), INDEX ${table}_ids (uuid, size)
) ${LIKE_OTHERS};
CREATE TABLE failed_${table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, uuid VARBINARY(255) NOT NULL, connection TEXT NOT NULL,
  queue VARCHAR(255) NOT NULL, payload LONGBLOB NOT NULL, exception LONGTEXT NOT NULL,
  failed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, failed_ms BIGINT NULL, name TEXT NULL, attempts BIGINT NOT NULL DEFAULT 0,
  UNIQUE INDEX onqueue_uuid (uuid), INDEX onqueue_queue (queue, id)
) ${LIKE_OTHERS};
CREATE TABLE ${table}_queues (name VARCHAR(255) NOT NULL PRIMARY KEY) ${LIKE_OTHERS};
CREATE TABLE ${table}_locks (
  name VARBINARY(255) NOT NULL PRIMARY KEY, token VARBINARY(255) NOT NULL, expires_at DECIMAL(16, 6) NOT NULL,
  INDEX expires_at (expires_at)
) ${LIKE_OTHERS};
CREATE TABLE ${table}_orders (kind VARBINARY(16) NOT NULL, value VARCHAR(255) NOT NULL, PRIMARY KEY (kind, value)) ${LIKE_OTHERS};
CREATE TABLE ${table}_calls (
  client VARBINARY(36) NOT NULL PRIMARY KEY, number BIGINT UNSIGNED NOT NULL, called_at BIGINT NOT NULL, settled MEDIUMTEXT NULL,
  lease_until DECIMAL(16, 6) NULL
) ${LIKE_OTHERS};
INSERT INTO onqueue_versions (name, version) VALUES ('${table}', 1)`;
