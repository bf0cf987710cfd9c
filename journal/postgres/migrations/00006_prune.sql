-- Runs that were removed, and rows of which are still there. Nothing finds them any more: runs.no is given to no other run.
CREATE TABLE removed (
    run    bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL
);

-- What is to be removed. A run ends once, and its state changes then anyway.
CREATE INDEX runs_finished ON runs (state, finished_at) WHERE finished_at IS NOT NULL;
