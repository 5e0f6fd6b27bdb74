-- The keys that were configured last, and what the server asked of each with a 429. A name whose value changed is told by
-- its print, a keyed digest from which no key can be found. Times ending in _mono mean something with the boot_id only.
CREATE TABLE wholesale_keys (
  key_name           TEXT PRIMARY KEY,
  value_fingerprint        TEXT,
  boot_id            TEXT,
  stamped_mono       REAL,
  -- Nothing is sent before this.
  blocked_until_mono REAL,
  -- Calls are spread out before this; how long that lasts this time.
  throttled_until_mono   REAL,
  throttle_length_ms    REAL,
  rate_limited_at_ms  INTEGER
) STRICT, WITHOUT ROWID;
