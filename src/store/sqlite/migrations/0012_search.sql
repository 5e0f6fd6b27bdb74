-- What people search an order by. `words` is an index only: the texts themselves are in requests.metadata and lines.extra.
-- A line has its id as its row here; an order of which no line was accepted has its own id, negative.
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@._+-'");
-- Fewer and larger merges: accepting lines costs less, and a search looks at more segments.
INSERT INTO search_words (search_words, rank) VALUES ('automerge', 16);

-- The last four characters of delivered codes; the codes are in entries.units alone.
CREATE TABLE unit_endings (
  ending   TEXT NOT NULL CHECK (length(ending) = 4),
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  PRIMARY KEY (ending, entry_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_by_order_number ON entries (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX entries_by_iccid ON entries (iccid) WHERE iccid IS NOT NULL;

INSERT INTO search_words (rowid, words)
SELECT -id, (SELECT group_concat(lower(substr(t.atom, 1, 64)), ' ') FROM json_tree(metadata) t WHERE t.atom IS NOT NULL)
FROM requests WHERE metadata <> '{}' ORDER BY id DESC;
INSERT INTO search_words (rowid, words)
SELECT id, lower(coalesce(variant, plan, iccid)) || ' ' || coalesce(
  (SELECT group_concat(lower(substr(x.value, 1, 64)), ' ') FROM json_each(extra) x WHERE x.key <> 'shop_quantity'), '')
FROM lines ORDER BY id;
INSERT OR IGNORE INTO unit_endings (ending, entry_id)
SELECT substr(code, -4), id FROM (
  SELECT e.id, upper(replace(replace(coalesce(u.value ->> 'code', u.value ->> 'pin'), '-', ''), ' ', '')) AS code
  FROM entries e, json_each(e.units) u WHERE e.units IS NOT NULL)
WHERE length(code) >= 8;
