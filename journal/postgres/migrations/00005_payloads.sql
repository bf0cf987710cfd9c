-- Payloads above 64 KiB, each once for a tenant. Rows that were written before keep theirs.
CREATE TABLE payloads (
    size     bigint NOT NULL, -- of the payload
    check_at timestamptz, -- when to look whether it is still named; NULL: a row that stays names it
    codec    smallint NOT NULL, -- 0 as it is, 1 zstd
    tenant   text COLLATE "C" NOT NULL,
    digest   bytea NOT NULL, -- SHA-256 of the payload
    bytes    bytea NOT NULL,
    PRIMARY KEY (tenant, digest)
);
-- They are compressed already, or cannot be.
ALTER TABLE payloads ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX payloads_check ON payloads (check_at) WHERE check_at IS NOT NULL;

-- Who names a payload. Of place 0 the name lasts as long as the run: it is in an entry, or in the run's row. The row of another
-- place may have another payload by now, and is looked at.
CREATE TABLE payload_names (
    run    bigint NOT NULL,
    place  smallint NOT NULL, -- 0 for good, 1 inbox, 2 published
    tenant text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    id     bytea NOT NULL, -- of the inbox' row, or key of the published value; '' of place 0
    PRIMARY KEY (tenant, digest, place, run, id)
);
CREATE INDEX payload_names_run ON payload_names (tenant, run);

-- x_held is x itself, or its digest when x_large. The columns get new names because their meaning is new: a host of an older
-- version that still runs must fail, not take a digest for a payload. No row is looked at.
ALTER TABLE runs RENAME COLUMN input TO input_held;
ALTER TABLE runs RENAME COLUMN output TO output_held;
ALTER TABLE runs RENAME COLUMN failure TO failure_held;
ALTER TABLE runs
    ADD COLUMN input_large   boolean NOT NULL DEFAULT false,
    ADD COLUMN output_large  boolean NOT NULL DEFAULT false,
    ADD COLUMN failure_large boolean NOT NULL DEFAULT false;
ALTER TABLE entries RENAME COLUMN request TO request_held;
ALTER TABLE entries RENAME COLUMN payload TO payload_held;
ALTER TABLE entries
    ADD COLUMN request_large boolean NOT NULL DEFAULT false,
    ADD COLUMN payload_large boolean NOT NULL DEFAULT false;
ALTER TABLE inbox RENAME COLUMN payload TO payload_held;
ALTER TABLE inbox ADD COLUMN payload_large boolean NOT NULL DEFAULT false;
ALTER TABLE published RENAME COLUMN value TO value_held;
ALTER TABLE published ADD COLUMN value_large boolean NOT NULL DEFAULT false;
