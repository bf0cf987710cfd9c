-- +goose Up
ALTER TABLE runs ADD COLUMN queued_bytes INTEGER NOT NULL DEFAULT 0; -- payloads of the signals in the open part of the inbox

UPDATE runs SET queued_bytes = (SELECT coalesce(sum(length(i.payload)), 0) FROM inbox i WHERE i.run = runs.n AND i.open = 1 AND i.kind = 'signal')
WHERE queued > 0;
