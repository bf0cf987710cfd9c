-- Of a small guest a checkpoint is half a kilobyte, ten a page: room for one of them is enough, since each is replaced once in
-- a hundred entries.
ALTER TABLE checkpoints SET (fillfactor = 90);
