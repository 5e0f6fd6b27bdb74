-- Who resolved an entry by hand, for its result.
ALTER TABLE entries ADD COLUMN resolved_by TEXT;
UPDATE entries SET resolved_by = (
  SELECT actor FROM audit WHERE subject = entries.reference AND action = 'resolve' ORDER BY id DESC LIMIT 1)
WHERE reference IN (SELECT subject FROM audit WHERE action = 'resolve');
