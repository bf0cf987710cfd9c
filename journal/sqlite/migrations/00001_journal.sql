-- Layout: every table that a run fills is a rowid table keyed by an integer run number, so that the
-- rows of many runs that one transaction appends share pages. Times are microseconds since 1970, UTC.
-- Absent bytes are empty, never NULL.

-- +goose Up
CREATE TABLE modules (
    n          INTEGER PRIMARY KEY,
    tenant     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    shape      TEXT NOT NULL,
    manifest   BLOB NOT NULL, -- JSON
    imports    BLOB NOT NULL, -- JSON
    created_at INTEGER NOT NULL,
    UNIQUE (tenant, digest)
) STRICT;

CREATE TABLE module_bytes (
    module INTEGER PRIMARY KEY REFERENCES modules (n),
    bytes  BLOB NOT NULL
) STRICT;

CREATE TABLE aliases (
    tenant  TEXT NOT NULL,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    digest  TEXT NOT NULL,
    set_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, version),
    FOREIGN KEY (tenant, digest) REFERENCES modules (tenant, digest)
) STRICT;

CREATE TABLE nodes (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at   INTEGER -- set once; an ended registration stays ended wherever the clock goes
) STRICT;

CREATE TABLE runs (
    n                INTEGER PRIMARY KEY,
    tenant           TEXT NOT NULL,
    id               BLOB NOT NULL CHECK (length(id) = 16),
    key              TEXT NOT NULL,
    idempotency_key  TEXT NOT NULL,
    workflow         TEXT NOT NULL,
    digest           TEXT NOT NULL,
    entry            TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('ready', 'running', 'waiting', 'paused', 'blocked', 'completed', 'failed', 'cancelled', 'terminated', 'timed_out', 'continued')),
    reason           TEXT NOT NULL DEFAULT '',
    waiting          TEXT NOT NULL DEFAULT '',
    attempts         INTEGER NOT NULL DEFAULT 0,
    owner            TEXT NOT NULL DEFAULT '', -- nodes.id
    token            INTEGER NOT NULL DEFAULT 0,
    released_by      BLOB NOT NULL DEFAULT x'', -- digest of the batch that gave up the lease of this token
    next_seq         INTEGER NOT NULL DEFAULT 0,
    inbox_pos        INTEGER NOT NULL DEFAULT 0, -- of the newest arrival
    mail_pos         INTEGER NOT NULL DEFAULT 0, -- of the newest arrival that is not the owner's own
    queued           INTEGER NOT NULL DEFAULT 0, -- signals in the open part of the inbox
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    due_at           INTEGER, -- of ready: since when; of waiting: the timer, if any; of running: as it was when claimed
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, digest) REFERENCES modules (tenant, digest),
    CHECK ((owner <> '') = (state = 'running')),
    CHECK (state <> 'ready' OR due_at IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX runs_by_idempotency_key ON runs (tenant, idempotency_key) WHERE idempotency_key <> '';
CREATE UNIQUE INDEX runs_by_open_key ON runs (tenant, key) WHERE key <> '' AND finished_at IS NULL;
CREATE INDEX runs_by_tenant ON runs (tenant, n);
CREATE INDEX runs_by_state ON runs (tenant, state, n);
CREATE INDEX runs_by_workflow ON runs (tenant, workflow, n);
CREATE INDEX runs_by_key ON runs (tenant, key, n) WHERE key <> '';
CREATE INDEX runs_ready ON runs (due_at) WHERE state = 'ready';
CREATE INDEX runs_due ON runs (due_at) WHERE state = 'waiting';
CREATE INDEX runs_owned ON runs (owner) WHERE state = 'running';

-- Inputs and results stand beside their runs, because SQLite rewrites a row whole when it changes.
CREATE TABLE inputs (
    run   INTEGER PRIMARY KEY REFERENCES runs (n),
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE results (
    run     INTEGER PRIMARY KEY REFERENCES runs (n),
    output  BLOB NOT NULL,
    failure BLOB NOT NULL
) STRICT;

CREATE TABLE entries (
    run     INTEGER NOT NULL REFERENCES runs (n),
    seq     INTEGER NOT NULL CHECK (seq >= 0),
    kind    TEXT NOT NULL CHECK (kind IN ('started', 'effect', 'activity', 'timer', 'signal', 'cancel', 'sleep', 'look', 'completed', 'failed', 'cancelled')),
    op      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    request BLOB NOT NULL,
    options BLOB NOT NULL,
    status  INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    payload BLOB NOT NULL,
    issued  INTEGER NOT NULL,
    trail   INTEGER NOT NULL, -- 64 bits, of which the highest is the sign here
    token   INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX entries_by_seq ON entries (run, seq);

CREATE TABLE inbox (
    run      INTEGER NOT NULL REFERENCES runs (n),
    id       TEXT NOT NULL,
    pos      INTEGER NOT NULL CHECK (pos > 0),
    open     INTEGER NOT NULL DEFAULT 1, -- 0 when an entry has made it visible; its payload is then emptied
    kind     TEXT NOT NULL CHECK (kind IN ('signal', 'cancel', 'done', 'retry')),
    op       INTEGER NOT NULL,
    name     TEXT NOT NULL,
    status   INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    payload  BLOB NOT NULL,
    digest   BLOB NOT NULL, -- of the content, by which a repeat is told from a conflict when the payload is gone
    attempt  INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX inbox_by_id ON inbox (run, id);
CREATE UNIQUE INDEX inbox_open ON inbox (run, pos) WHERE open = 1;

CREATE TABLE published (
    run   INTEGER NOT NULL REFERENCES runs (n),
    key   TEXT NOT NULL,
    value BLOB NOT NULL,
    at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX published_by_key ON published (run, key);
