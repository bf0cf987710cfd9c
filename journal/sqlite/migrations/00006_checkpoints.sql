-- +goose Up
-- The newest checkpoint of an open run: a cache, which is replaced as a whole. seq is in the run's row, too, so that a claim says
-- whether there is one.
ALTER TABLE runs ADD COLUMN checkpoint_seq INTEGER NOT NULL DEFAULT 0;

CREATE TABLE checkpoints (
    run    INTEGER PRIMARY KEY,
    seq    INTEGER NOT NULL CHECK (seq > 0),
    key    TEXT NOT NULL,
    packed BLOB NOT NULL
);
