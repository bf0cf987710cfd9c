-- The list of a workflow's runs, by an index that only that list can use. Without the condition it serves the search of a run by
-- tenant and id, too, by reading all of the tenant's, and is taken for as good as the primary key while the table has no
-- statistics.
DROP INDEX runs_workflow;
CREATE INDEX runs_workflow ON runs (tenant, workflow, id) WHERE workflow <> '';
