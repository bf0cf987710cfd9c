-- A queue: a few hundred rows that live for a moment each.
ALTER TABLE removed SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
