-- +goose Up
-- Runs that other runs start, and runs that go on for others. Absent ids are empty.
ALTER TABLE runs ADD COLUMN parent BLOB NOT NULL DEFAULT x'';
ALTER TABLE runs ADD COLUMN parent_op INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN abandoned INTEGER NOT NULL DEFAULT 0; -- goes on when its parent ends
ALTER TABLE runs ADD COLUMN successor BLOB NOT NULL DEFAULT x'';
-- The children that end with their parent.
CREATE INDEX runs_bound ON runs (tenant, parent) WHERE parent <> x'' AND finished_at IS NULL AND abandoned = 0;

-- A CHECK cannot be changed: the tables are made anew, with the kinds child and continued.
CREATE TABLE entries_new (
    run     INTEGER NOT NULL REFERENCES runs (n),
    seq     INTEGER NOT NULL CHECK (seq >= 0),
    kind    TEXT NOT NULL CHECK (kind IN ('started', 'effect', 'activity', 'child', 'timer', 'signal', 'cancel', 'sleep', 'look', 'completed', 'failed', 'cancelled', 'continued')),
    op      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    request BLOB NOT NULL,
    options BLOB NOT NULL,
    status  INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    payload BLOB NOT NULL,
    issued  INTEGER NOT NULL,
    trail   INTEGER NOT NULL, -- 64 bits, of which the highest is the sign here
    token   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    request_large INTEGER NOT NULL DEFAULT 0,
    payload_large INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO entries_new (rowid, run, seq, kind, op, name, request, options, status, payload, issued, trail, token, at, request_large, payload_large)
SELECT rowid, run, seq, kind, op, name, request, options, status, payload, issued, trail, token, at, request_large, payload_large FROM entries;
DROP TABLE entries;
ALTER TABLE entries_new RENAME TO entries;
CREATE UNIQUE INDEX entries_by_seq ON entries (run, seq);

CREATE TABLE inbox_new (
    run      INTEGER NOT NULL REFERENCES runs (n),
    id       TEXT NOT NULL,
    pos      INTEGER NOT NULL CHECK (pos > 0),
    open     INTEGER NOT NULL DEFAULT 1, -- 0 when an entry has made it visible; its payload is then emptied
    kind     TEXT NOT NULL CHECK (kind IN ('signal', 'cancel', 'done', 'retry', 'child')),
    op       INTEGER NOT NULL,
    name     TEXT NOT NULL,
    status   INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    payload  BLOB NOT NULL,
    digest   BLOB NOT NULL, -- of the content, by which a repeat is told from a conflict when the payload is gone
    attempt  INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    payload_large INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO inbox_new (rowid, run, id, pos, open, kind, op, name, status, payload, digest, attempt, retry_at, at, payload_large)
SELECT rowid, run, id, pos, open, kind, op, name, status, payload, digest, attempt, retry_at, at, payload_large FROM inbox;
DROP TABLE inbox;
ALTER TABLE inbox_new RENAME TO inbox;
CREATE UNIQUE INDEX inbox_by_id ON inbox (run, id);
CREATE UNIQUE INDEX inbox_open ON inbox (run, pos) WHERE open = 1;
