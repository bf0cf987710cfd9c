-- +goose Up
-- A run that was removed has another id and no keys, so that nothing finds it, until its rows are gone.
ALTER TABLE runs ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_removed ON runs (n) WHERE removed = 1;
-- What is to be removed.
CREATE INDEX runs_finished ON runs (state, finished_at) WHERE finished_at IS NOT NULL AND removed = 0;
