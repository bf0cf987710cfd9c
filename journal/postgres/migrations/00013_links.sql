-- Runs that other runs start, and runs that go on for others. NULL for the others, which costs them nothing.
ALTER TABLE runs
    ADD COLUMN parent    uuid,
    ADD COLUMN parent_op integer,
    ADD COLUMN depth     integer,
    ADD COLUMN abandoned boolean, -- goes on when its parent ends
    ADD COLUMN successor uuid;
-- The children that end with their parent.
CREATE INDEX runs_bound ON runs (tenant, parent) WHERE parent IS NOT NULL AND finished_at IS NULL AND abandoned IS NOT TRUE;

-- No row is looked at: each that is there passes.
ALTER TABLE entries DROP CONSTRAINT entries_kind;
ALTER TABLE entries ADD CONSTRAINT entries_kind CHECK (kind IN ('started', 'effect', 'activity', 'child', 'timer', 'signal', 'cancel',
    'sleep', 'look', 'completed', 'failed', 'cancelled', 'continued')) NOT VALID;
ALTER TABLE inbox DROP CONSTRAINT inbox_kind;
ALTER TABLE inbox ADD CONSTRAINT inbox_kind CHECK (kind IN ('signal', 'cancel', 'done', 'retry', 'child')) NOT VALID;
