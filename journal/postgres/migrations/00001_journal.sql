-- The journal's first schema. Names are without a schema: the migration runs with search_path set to
-- the configured one.
--
-- Free text that a guest or a sender chose (names, keys, ids) is bytea: Postgres' text refuses a NUL,
-- which is legal there, and its bytes must come back as they were. Text for people is text.
-- runs.no stands for (tenant, id) in the tables that have many rows a run. It is unique because
-- nobody but the sequence gives it; an index would cost a write in every change of state.

-- The one clock that decides. Tests replace it to move time.
CREATE FUNCTION reprise_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

CREATE TABLE nodes (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended      boolean NOT NULL DEFAULT false -- for good, whatever the clock does
) WITH (fillfactor = 50);

CREATE TABLE modules (
    tenant     text COLLATE "C" NOT NULL,
    digest     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL,
    shape      text NOT NULL CHECK (shape IN ('command', 'reactor')),
    manifest   bytea NOT NULL, -- JSON
    imports    bytea NOT NULL, -- JSON
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, digest)
);

CREATE TABLE module_bytes (
    tenant text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    bytes  bytea NOT NULL,
    PRIMARY KEY (tenant, digest)
);

CREATE TABLE aliases (
    tenant  text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    digest  text COLLATE "C" NOT NULL,
    set_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, name, version)
);

CREATE TABLE runs (
    no               bigint GENERATED ALWAYS AS IDENTITY,
    token            bigint NOT NULL DEFAULT 0,
    claim            bigint NOT NULL DEFAULT 0, -- nonce of the claim call that gave the run to its owner
    next_seq         bigint NOT NULL DEFAULT 0,
    inbox_pos        bigint NOT NULL DEFAULT 0, -- of the newest arrival
    mail_pos         bigint NOT NULL DEFAULT 0, -- of the newest arrival that did not come from the owner
    release          bigint NOT NULL DEFAULT 0, -- hash of the batch that gave up the last lease
    wake_at          timestamptz, -- due: of waiting its timer, of ready since when; NULL: only an arrival wakes it
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    finished_at      timestamptz,
    id               uuid NOT NULL,
    attempts         integer NOT NULL DEFAULT 0,
    cancel_requested boolean NOT NULL DEFAULT false,
    tenant           text COLLATE "C" NOT NULL,
    state            text COLLATE "C" NOT NULL,
    owner            text COLLATE "C" NOT NULL DEFAULT '',
    waiting          text NOT NULL DEFAULT '',
    reason           text NOT NULL DEFAULT '',
    workflow         text COLLATE "C" NOT NULL,
    digest           text COLLATE "C" NOT NULL,
    key              bytea NOT NULL,
    idempotency_key  bytea NOT NULL,
    entry            bytea NOT NULL,
    input            bytea,
    output           bytea,
    failure          bytea,
    PRIMARY KEY (tenant, id),
    CONSTRAINT runs_state CHECK (state IN ('ready', 'running', 'waiting', 'paused', 'blocked',
        'completed', 'failed', 'cancelled', 'terminated', 'timed_out', 'continued')),
    CONSTRAINT runs_finished CHECK ((finished_at IS NOT NULL) =
        (state IN ('completed', 'failed', 'cancelled', 'terminated', 'timed_out', 'continued'))),
    CONSTRAINT runs_owned CHECK ((owner <> '') = (state = 'running'))
) WITH (fillfactor = 70); -- room for heap-only updates: an append changes no indexed column

-- A run is in one of these three while it may be claimed.
CREATE INDEX runs_ready ON runs (wake_at) WHERE state = 'ready';
CREATE INDEX runs_waiting ON runs (wake_at) WHERE state = 'waiting' AND wake_at IS NOT NULL;
CREATE INDEX runs_running ON runs (owner, wake_at) WHERE state = 'running';

CREATE UNIQUE INDEX runs_key ON runs (tenant, key) WHERE key <> '' AND finished_at IS NULL;
CREATE UNIQUE INDEX runs_idempotency_key ON runs (tenant, idempotency_key) WHERE idempotency_key <> '';

CREATE TABLE entries (
    run     bigint NOT NULL,
    seq     bigint NOT NULL CHECK (seq >= 0),
    trail   bigint NOT NULL, -- the bits of an unsigned number
    token   bigint NOT NULL,
    at      timestamptz NOT NULL,
    op      integer NOT NULL,
    issued  integer NOT NULL,
    status  smallint NOT NULL,
    tenant  text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    name    bytea NOT NULL,
    request bytea,
    options bytea,
    payload bytea,
    PRIMARY KEY (tenant, run, seq),
    CONSTRAINT entries_kind CHECK (kind IN ('started', 'effect', 'activity', 'timer', 'signal', 'cancel',
        'sleep', 'look', 'completed', 'failed', 'cancelled'))
);

CREATE TABLE inbox (
    run      bigint NOT NULL,
    pos      bigint NOT NULL,
    at       timestamptz NOT NULL,
    retry_at timestamptz,
    op       integer NOT NULL,
    attempt  integer NOT NULL DEFAULT 0,
    status   smallint NOT NULL DEFAULT 0,
    open     boolean NOT NULL DEFAULT true,
    tenant   text COLLATE "C" NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    id       bytea NOT NULL,
    name     bytea NOT NULL,
    payload  bytea,
    PRIMARY KEY (tenant, run, id),
    CONSTRAINT inbox_kind CHECK (kind IN ('signal', 'cancel', 'done', 'retry'))
);

CREATE INDEX inbox_open ON inbox (tenant, run, pos) WHERE open;

CREATE TABLE published (
    run    bigint NOT NULL,
    at     timestamptz NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    key    bytea NOT NULL,
    value  bytea,
    PRIMARY KEY (tenant, run, key)
);
