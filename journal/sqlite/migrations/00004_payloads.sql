-- +goose Up
-- Payloads above 64 KiB, each once for a tenant. Rows that were written before keep theirs.
CREATE TABLE payloads (
    n        INTEGER PRIMARY KEY,
    tenant   TEXT NOT NULL,
    digest   BLOB NOT NULL, -- SHA-256 of the payload
    size     INTEGER NOT NULL, -- of the payload
    codec    INTEGER NOT NULL, -- 0 as it is, 1 zstd
    check_at INTEGER, -- when to look whether it is still named; NULL: a row that stays names it
    UNIQUE (tenant, digest)
) STRICT;
CREATE INDEX payloads_check ON payloads (check_at) WHERE check_at IS NOT NULL;

-- The bytes stand beside, because SQLite rewrites a row whole when it changes.
CREATE TABLE payload_bytes (
    payload INTEGER PRIMARY KEY REFERENCES payloads (n),
    bytes   BLOB NOT NULL
) STRICT;

-- Who names a payload. Of place 0 the name lasts as long as the run: it is in an entry, in the input or in the result. The row of
-- another place may have another payload by now, and is looked at.
CREATE TABLE payload_names (
    payload INTEGER NOT NULL REFERENCES payloads (n),
    place   INTEGER NOT NULL, -- 0 for good, 1 inbox, 2 published
    run     INTEGER NOT NULL REFERENCES runs (n),
    id      TEXT NOT NULL, -- of the inbox' row, or key of the published value; '' of place 0
    PRIMARY KEY (payload, place, run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX payload_names_run ON payload_names (run);

-- What is large holds the digest.
ALTER TABLE inputs ADD COLUMN large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN output_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN failure_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN request_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN payload_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN payload_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE published ADD COLUMN value_large INTEGER NOT NULL DEFAULT 0;
