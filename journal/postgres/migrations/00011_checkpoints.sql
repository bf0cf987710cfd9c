-- The newest checkpoint of an open run: a cache, which is replaced as a whole and packed already. seq is in the run's row, too, so that
-- a claim says whether there is one.
ALTER TABLE runs ADD COLUMN checkpoint_seq bigint NOT NULL DEFAULT 0;

CREATE TABLE checkpoints (
    run    bigint NOT NULL,
    seq    bigint NOT NULL CHECK (seq > 0),
    tenant text COLLATE "C" NOT NULL,
    key    text NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant, run)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE checkpoints ALTER COLUMN packed SET STORAGE EXTERNAL;
