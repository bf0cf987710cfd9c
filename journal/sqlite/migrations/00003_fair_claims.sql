-- +goose Up
-- A claim shares what is due among tenants: it goes from tenant to tenant, and takes the oldest of each.
DROP INDEX runs_ready;
CREATE INDEX runs_ready ON runs (tenant, due_at) WHERE state = 'ready';
CREATE INDEX runs_due_of ON runs (tenant, due_at) WHERE state = 'waiting' AND due_at IS NOT NULL;
