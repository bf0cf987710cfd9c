-- Payloads of the signals in the open part of the inbox.
ALTER TABLE runs ADD COLUMN queued_bytes bigint NOT NULL DEFAULT 0;

UPDATE runs r SET queued_bytes = q.bytes
FROM (SELECT i.tenant, i.run, sum(octet_length(i.payload)) AS bytes FROM inbox i WHERE i.open AND i.kind = 'signal' GROUP BY i.tenant, i.run) q
WHERE r.tenant = q.tenant AND r.no = q.run AND q.bytes > 0;
