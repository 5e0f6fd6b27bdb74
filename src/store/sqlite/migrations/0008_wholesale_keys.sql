-- The keys that were configured last, and what the server asked of each with a 429. A name whose value changed is told by
-- its print, a keyed digest from which no key can be found. Times ending in _mono mean something with the boot_id only.
CREATE TABLE wholesale_keys (
  key_name           TEXT PRIMARY KEY,
  value_print        TEXT,
  boot_id            TEXT,
  stamped_mono       REAL,
  -- Nothing is sent before this.
  blocked_until_mono REAL,
  -- Calls are spread out before this; how long that lasts this time.
  paced_until_mono   REAL,
  paced_length_ms    REAL,
  turned_away_at_ms  INTEGER
) STRICT, WITHOUT ROWID;
