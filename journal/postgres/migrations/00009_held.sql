-- The list of runs that are held back, by an expression that claims do not have: they would read a tenant's waiting runs by this index and
-- sort them, however many there are, where the index of their timers has the oldest first.
DROP INDEX runs_held;
CREATE INDEX runs_held ON runs (tenant, left(state, 16), id) WHERE left(state, 16) IN ('waiting', 'paused', 'blocked');
