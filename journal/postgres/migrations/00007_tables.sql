-- Lists of runs, newest first. Each change of a run's state writes to every index that its new row is in, so an index of states is
-- kept only where runs stay: ended, and held back. Who lists ready or running runs reads those of runs_ready or runs_running and sorts them.
CREATE INDEX runs_ended ON runs (tenant, state, id) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_held ON runs (tenant, state, id) WHERE state IN ('waiting', 'paused', 'blocked');
CREATE INDEX runs_workflow ON runs (tenant, workflow, id);
CREATE INDEX runs_of_key ON runs (tenant, key, id) WHERE key <> '';

-- When a table is vacuumed. The defaults wait until a fifth of a table is dead, which for a table of millions of rows is never when
-- it matters; and pages of the indexes that claims read are full of dead entries long before. fillfactor leaves room for a row's next
-- version in its page: only then can an update be heap-only, which writes no index.

-- Some ten versions a run, and most rows of a large table are of runs that have ended. An append changes no indexed column: 30 %
-- of a page are room for it.
ALTER TABLE runs SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);

-- A row a node, a version a heartbeat: the table must stay some pages, since claims and commits read it.
ALTER TABLE nodes SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- An arrival has two versions: it is closed by changing a column that inbox_open depends on, so that room in the page is of no use.
ALTER TABLE inbox SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05);

-- Published values are replaced in place. The key is indexed, the value is not.
ALTER TABLE published SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- Entries are inserted once and removed when they are old, so that what is dead lies together and is soon used again. Frozen in small
-- pieces, and not all at once when the table is large.
ALTER TABLE entries SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05);

-- A dead payload is large, and lies in the table's TOAST table.
ALTER TABLE payloads SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    toast.autovacuum_vacuum_scale_factor = 0.05);
