-- CSV order files are written back as CSV, row for row, when no row of them is open any more. Deliveries of their own: a file
-- is done for a version, as a result is.
CREATE TABLE csv_files (
  id                 INTEGER PRIMARY KEY,
  file_id            TEXT NOT NULL UNIQUE REFERENCES files (id),
  -- As it was read: a later configuration might find another one.
  delimiter          TEXT NOT NULL CHECK (length(delimiter) = 1),
  due_version        INTEGER NOT NULL DEFAULT 1,
  done_version       INTEGER NOT NULL DEFAULT 0,
  due_at_ms          INTEGER NOT NULL,
  tries              INTEGER NOT NULL DEFAULT 0,
  last_error         TEXT,
  done_at_ms         INTEGER,
  given_up_at_ms     INTEGER,
  acknowledged_at_ms INTEGER
) STRICT;
CREATE INDEX csv_files_due ON csv_files (due_at_ms) WHERE done_version < due_version;
CREATE INDEX csv_files_given_up ON csv_files (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL;

-- Which line each row of a file is: `line_count` rows from `first_row` on (a line number of the file) are the lines from `first_line` on. A row
-- for each line would cost a quarter of what accepting it costs.
CREATE TABLE csv_runs (
  csv_file_id INTEGER NOT NULL REFERENCES csv_files (id),
  first_row   INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  line_count  INTEGER NOT NULL CHECK (line_count > 0),
  PRIMARY KEY (csv_file_id, first_row)
) STRICT, WITHOUT ROWID;

-- Files with lines that an earlier file, or a webhook, had brought before. Of the others, `lines.file_id` knows the file.
CREATE TABLE csv_repeats (
  line_id     INTEGER NOT NULL REFERENCES lines (id),
  csv_file_id INTEGER NOT NULL REFERENCES csv_files (id),
  PRIMARY KEY (line_id, csv_file_id)
) STRICT, WITHOUT ROWID;
