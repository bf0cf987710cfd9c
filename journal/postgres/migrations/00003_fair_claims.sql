-- A claim shares what is due among tenants: it goes from tenant to tenant, and takes the oldest of each.
DROP INDEX runs_ready;
CREATE INDEX runs_ready ON runs (tenant, wake_at) WHERE state = 'ready';
CREATE INDEX runs_waiting_of ON runs (tenant, wake_at) WHERE state = 'waiting' AND wake_at IS NOT NULL;
