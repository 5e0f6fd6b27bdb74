-- Orders that were surely bought, by what they were: the check whether lookups work asks for one of a family, and must
-- not search a million rows of the other family each time.
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';
