-- A failover to a standby that lacks the last commits takes them back: a token may then be given a second time. So a
-- registration holds on one timeline of the server only, which changes when a standby is promoted or a backup is
-- restored up to a point in time. Every lease from before is void from the first statement on.
CREATE FUNCTION reprise_timeline() RETURNS text LANGUAGE sql VOLATILE
    AS 'SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)';

ALTER TABLE nodes ADD COLUMN timeline text COLLATE "C" NOT NULL DEFAULT reprise_timeline();
