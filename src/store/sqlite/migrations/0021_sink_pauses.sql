-- Sinks that take no results at the moment. Stored, so that a worker in a crash loop does not hammer a receiver that is down.
CREATE TABLE sink_pauses (
  sink        TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  probe_at_ms INTEGER NOT NULL,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
